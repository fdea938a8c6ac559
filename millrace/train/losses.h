// Losses: how far predictions are from labels: a number for each element, weighted and reduced to
// one, which joins the model's collection of losses. Names, defaults and rounding as tf.losses.
//
//   const Output loss = losses::sparse_softmax_cross_entropy(model, labels, logits);
#pragma once

#include "millrace/train/variable_scope.h"

namespace millrace {

// How a loss per element becomes one number.
enum class Reduction : uint8_t {
  none,                    // stays as it is
  sum,                     // the weighted losses added up
  mean,                    // their sum divided by that of the weights
  sum_over_batch_size,     // … by the number of losses
  sum_by_nonzero_weights,  // … by the number of weights that are not 0
};

struct LossOptions {
  // A scalar, or of the rank of the losses with their sizes or 1.
  Input weights = 1.0;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
};

struct CrossEntropyOptions {
  Input weights = 1.0;
  double label_smoothing = 0;  // how far labels are moved towards even ones, 0 to 1
  Reduction reduction = Reduction::sum_by_nonzero_weights;
};

// How far sigmoid(logits) is from labels in [0, 1], for each element: of the shape and type of
// both.
Output sigmoid_cross_entropy_with_logits(const Scope& scope, const Output& labels,
                                         const Output& logits);

namespace losses {

// Errors of all: INVALID_ARGUMENT for shapes or weights that don't fit each other.

// Of labels that are numbers of classes: int32 or int64, of the shape of logits without its last
// axis.
Output sparse_softmax_cross_entropy(const VariableScope& scope, const Output& labels,
                                    const Output& logits, const LossOptions& options = {});
// Of labels that are probabilities, of the shape of logits. Gradients don't go to them.
Output softmax_cross_entropy(const VariableScope& scope, const Output& onehot_labels,
                             const Output& logits, const CrossEntropyOptions& options = {});
// Of labels in [0, 1] and sigmoid(logits), each element by itself.
Output sigmoid_cross_entropy(const VariableScope& scope, const Output& multi_class_labels,
                             const Output& logits, const CrossEntropyOptions& options = {});
// (predictions - labels)^2.
Output mean_squared_error(const VariableScope& scope, const Output& labels,
                          const Output& predictions, const LossOptions& options = {});
// |predictions - labels|.
Output absolute_difference(const VariableScope& scope, const Output& labels,
                           const Output& predictions, const LossOptions& options = {});
// Losses of one's own, weighted and reduced likewise.
Output compute_weighted_loss(const VariableScope& scope, const Output& losses,
                             const LossOptions& options = {});

// The sum of the model's losses, and of the regularization losses.
// Errors: INVALID_ARGUMENT if there are none.
Output get_total_loss(const VariableScope& scope);

}  // namespace losses

namespace regularizers {

// factor * sum(|x|), factor * sum(x^2).
Regularizer l1(double factor = 0.01);
Regularizer l2(double factor = 0.01);

}  // namespace regularizers

}  // namespace millrace
