#include "millrace/train/decays.h"

#include <numbers>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

// What all of them are worked out of, in the type of the rate. Nothing after an error.
struct Decaying {
  Scope scope;
  Output rate, step = {};

  Decaying(const Scope& outer, std::string_view name, const Input& learning_rate,
           const Output& global_step)
      : scope(outer.named(name)),
        rate(constant(scope.with_name("initial_learning_rate"), learning_rate)) {
    if (is_given(scope, global_step, "a global step") && rate.has_value())
      step = as_type(scope, global_step, rate.dtype());
  }

  Output number(const Input& given) const {
    return as_type(scope, constant(scope, given, given.literal() ? rate.dtype() : DType::invalid),
                   rate.dtype());
  }
  // How many times decay_steps have passed.
  Output share(const Input& decay_steps, Falling falling) const {
    const Output passed = ops::real_div(scope, step, number(decay_steps));
    return falling == Falling::in_jumps ? ops::floor(scope, passed) : passed;
  }
};

}  // namespace

Output exponential_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                         const Input& decay_steps, const Input& decay_rate, Falling falling) {
  const Decaying own(scope, "ExponentialDecay", learning_rate, global_step);
  if (!own.step.has_value()) return {};
  const Output share = own.share(decay_steps, falling);
  return ops::mul(own.scope, own.rate, ops::pow(own.scope, own.number(decay_rate), share));
}

Output natural_exp_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                         const Input& decay_steps, const Input& decay_rate, Falling falling) {
  const Decaying own(scope, "NaturalExpDecay", learning_rate, global_step);
  if (!own.step.has_value()) return {};
  const Output factor = ops::exp(own.scope, ops::neg(own.scope, own.number(decay_rate)));
  const Output share = own.share(decay_steps, falling);
  return ops::mul(own.scope, own.rate, ops::pow(own.scope, factor, share));
}

Output inverse_time_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                          const Input& decay_steps, const Input& decay_rate, Falling falling) {
  const Decaying own(scope, "InverseTimeDecay", learning_rate, global_step);
  if (!own.step.has_value()) return {};
  const Output share = own.share(decay_steps, falling);
  const Output grown = ops::mul(own.scope, own.number(decay_rate), share);
  return ops::real_div(own.scope, own.rate, ops::add(own.scope, grown, 1));
}

Output polynomial_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                        const Input& decay_steps, const PolynomialDecayOptions& options) {
  const Decaying own(scope, "PolynomialDecay", learning_rate, global_step);
  if (!own.step.has_value()) return {};
  const Output end = own.number(options.end_learning_rate);
  Output step = own.step, length = own.number(decay_steps);
  if (options.cycle) {
    const Output rounds = ops::ceil(own.scope, ops::real_div(own.scope, step, length));
    length = ops::mul(own.scope, length, ops::maximum(own.scope, rounds, 1));
  } else {
    step = ops::minimum(own.scope, step, length);
  }
  const Output passed = ops::real_div(own.scope, step, length);
  const Output left =
      ops::pow(own.scope, ops::sub(own.scope, own.number(1), passed), own.number(options.power));
  return ops::add(own.scope, ops::mul(own.scope, ops::sub(own.scope, own.rate, end), left), end);
}

Output cosine_decay(const Scope& scope, const Input& learning_rate, const Output& global_step,
                    const Input& decay_steps, const Input& alpha) {
  const Decaying own(scope, "CosineDecay", learning_rate, global_step);
  if (!own.step.has_value()) return {};
  const Scope& here = own.scope;
  const Output length = own.number(decay_steps), least = own.number(alpha);
  const Output passed = ops::real_div(here, ops::minimum(here, own.step, length), length);
  const Output wave = ops::cos(here, ops::mul(here, passed, std::numbers::pi));
  const Output half = ops::mul(here, ops::add(here, wave, 1), 0.5);
  const Output above = ops::mul(here, ops::sub(here, own.number(1), least), half);
  return ops::mul(here, own.rate, ops::add(here, above, least));
}

Output piecewise_constant(const Scope& scope, const Output& global_step,
                          const std::vector<int64_t>& boundaries,
                          const std::vector<double>& values) {
  const Scope inside = scope.named("PiecewiseConstant");
  if (!is_given(inside, global_step, "a global step")) return {};
  if (values.size() != boundaries.size() + 1) {
    inside.fail(invalid(values.size(), " values and ", boundaries.size(),
                        " boundaries: there must be one value more than boundaries"),
                "piecewise_constant");
    return {};
  }
  Output chosen = constant(inside, values.back(), DType::f32);
  for (size_t i = boundaries.size(); i-- > 0;) {
    const Output is_below = ops::less_equal(inside, global_step, boundaries[i]);
    chosen = ops::select(inside, is_below, constant(inside, values[i], DType::f32), chosen);
  }
  return ops::identity(inside, chosen);
}

}  // namespace millrace
