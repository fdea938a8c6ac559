// Learning rates that fall as the global step grows: scalars, worked out anew in each step.
//
//   const Output rate = exponential_decay(model, 0.1, step, 1000, 0.96);
//   AdamOptimizer adam(rate);
//
// As tf.train's of the same names, op for op. A rate that is a literal is a float; all else takes
// the rate's type. Errors, kept in the builder: INVALID_ARGUMENT for a step without a value, and
// those of the ops.
#pragma once

#include <vector>

#include "millrace/api/input.h"

namespace millrace {

enum class Falling : uint8_t { smoothly, in_jumps };  // in_jumps: at multiples of decay_steps

// learning_rate * decay_rate ^ (global_step / decay_steps)
Output exponential_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         Falling falling = Falling::smoothly);
// learning_rate * exp(-decay_rate * global_step / decay_steps)
Output natural_exp_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         Falling falling = Falling::smoothly);
// learning_rate / (1 + decay_rate * global_step / decay_steps)
Output inverse_time_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                          const Input& decay_steps, const Input& decay_rate,
                          Falling falling = Falling::smoothly);

struct PolynomialDecayOptions {
  Input end_learning_rate = 0.0001;
  Input power = 1.0;   // 1: along a straight line
  bool cycle = false;  // goes up again after the end, to where the next multiple leads down from
};

// From learning_rate to the end in decay_steps, along (1 - global_step / decay_steps) ^ power.
Output polynomial_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                        const Input& decay_steps, const PolynomialDecayOptions& options = {});
// From learning_rate to alpha times it in decay_steps, along half a wave of a cosine.
Output cosine_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                    const Input& decay_steps, const Input& alpha = 0.0);
// values[0] for steps up to boundaries[0], values[1] up to boundaries[1] …, the last one above all.
// Errors: INVALID_ARGUMENT unless there is one value more than boundaries.
Output piecewise_constant(const Scope& scope, const Output& global_step,
                          const std::vector<int64_t>& boundaries,
                          const std::vector<double>& values);

}  // namespace millrace
