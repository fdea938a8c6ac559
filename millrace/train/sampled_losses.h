// Losses that look at a few classes in the place of all: the true ones and some that are drawn,
// where there are too many for a softmax. As tf.nn.nce_loss.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/train/variable.h"

namespace millrace {

struct SampledClassesOptions {
  int64_t num_sampled = 64;  // how many classes are drawn in each step, none twice
  std::optional<int64_t> seed = std::nullopt;
};

// How far each example's true classes are told apart from classes drawn: float [batch], by a
// logistic regression each. `weights` has a row and `biases` a number for each class, classes in
// order of how frequent they are; `labels` is int64 [batch, true classes], that number known;
// `inputs` float [batch, n], n the length of a row. Errors: INVALID_ARGUMENT for ranks and sizes
// that don't fit, and for more classes drawn than there are.
Output nce_loss(const Scope& scope, const Variable& weights, const Variable& biases,
                const Output& labels, const Output& inputs,
                const SampledClassesOptions& options = {});

}  // namespace millrace
