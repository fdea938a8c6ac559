#include "millrace/train/losses.h"

#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/nn.h"
#include "millrace/train/node_scopes.h"
#include "millrace/train/reductions.h"

namespace millrace {
namespace {

// False, after an error, if two shapes that must be the same can't be.
bool fit(const Scope& scope, const Output& labels, const Output& predictions) {
  if (!is_given(scope, labels, "labels") || !is_given(scope, predictions, "predictions"))
    return false;
  const auto merged = shape_of(labels).merge(shape_of(predictions));
  if (merged.ok()) return true;
  scope.fail(invalid("labels ", shape_of(labels).to_string(), " and predictions ",
                     shape_of(predictions).to_string(), " must have the same shape"),
             scope.surroundings().name_scope);
  return false;
}

// Weights of the shape of the losses, which is seen to when it runs where it isn't known before;
// scalars stay as they are. No value, after an error, if they don't fit.
Output fitting_weights(const Scope& scope, const Input& given, const Output& losses) {
  Output weights = as_type(
      scope, constant(scope, given, given.literal() != nullptr ? DType::f32 : DType::invalid),
      DType::f32);
  const PartialShape own = shape_of(weights), wanted = shape_of(losses);
  if (own.has_rank() && own.rank() == 0) return weights;
  bool fits = !own.has_rank() || !wanted.has_rank() || own.rank() == wanted.rank();
  for (int axis = 0; fits && own.has_rank() && axis < wanted.rank(); ++axis) {
    const int64_t a = own.dim(axis), b = wanted.dim(axis);
    fits = a == 1 || a == b || a == kUnknownDim || b == kUnknownDim;
  }
  if (fits) return ops::broadcast_to(scope, weights, ops::shape(scope, losses));
  scope.fail(
      invalid("weights ", own.to_string(), " can not be broadcast to losses ", wanted.to_string(),
              ": they must be a scalar, or have their rank and on each "
              "axis their size or 1"),
      scope.surroundings().name_scope);
  return {};
}

bool is_number_but_0(const Input& weights) {
  if (weights.literal() == nullptr) return false;
  const auto value = weights.literal()->to_tensor(DType::f32);
  return value.ok() && value->shape().is_scalar() && value->item<float>() != 0;
}

Output number_present(const Scope& scope, const Output& losses, const Input& given,
                      const Output& weights) {
  if (is_number_but_0(given)) return ops::cast(scope, ops::size(scope, losses), DType::f32);
  const Output is_present = ops::cast(scope, ops::not_equal(scope, weights, 0.0), DType::f32);
  return reduce_sum(scope, ops::broadcast_to(scope, is_present, ops::shape(scope, losses)));
}

Output reduced(const Scope& scope, const Output& losses, const LossOptions& options) {
  const Output weights = fitting_weights(scope, options.weights, losses);
  if (!weights.has_value()) return {};
  Output weighted = ops::mul(scope, losses, weights);
  if (options.reduction == Reduction::none) return weighted;
  Output total = reduce_sum(scope, weighted);
  Output number;
  switch (options.reduction) {
    case Reduction::none:
    case Reduction::sum:
      return total;
    case Reduction::mean:
      number = reduce_sum(scope, ops::mul(scope, ops::ones_like(scope, losses), weights));
      break;
    case Reduction::sum_over_batch_size:
      number = ops::cast(scope, ops::size(scope, losses), DType::f32);
      break;
    case Reduction::sum_by_nonzero_weights:
      number = number_present(scope, losses, options.weights, weights);
      break;
  }
  return ops::div_no_nan(scope.with_name("value"), total, number);
}

// All axes but the last as one.
Output as_matrix(const Scope& scope, const Output& values) {
  const PartialShape shape = shape_of(values);
  if (shape.rank() == 2) return values;
  if (shape.has_rank() && shape.rank() > 0 && shape.dim(shape.rank() - 1) != kUnknownDim)
    return ops::reshape(scope, values, {int64_t{-1}, shape.dim(shape.rank() - 1)});
  scope.fail(
      invalid("logits of shape ", shape.to_string(), ": rank and number of classes must be known"),
      scope.surroundings().name_scope);
  return {};
}

Output precise(const Scope& scope, const Output& logits) {
  const bool is_short = logits.dtype() == DType::f16 || logits.dtype() == DType::bf16;
  return is_short ? as_type(scope, logits, DType::f32) : logits;
}

Output weighted_loss(const VariableScope& model, const Scope& scope, const Output& losses,
                     const LossOptions& options) {
  if (!is_given(scope, losses, "losses")) return {};
  const Output wide = as_type(scope, losses, DType::f32);
  Output loss = as_type(scope, reduced(scope, wide, options), losses.dtype());
  if (loss.has_value()) model.collections().losses.push_back(loss);
  return loss;
}

Scope loss_scope(const VariableScope& scope, std::string_view name) {
  return scope.scope().named(name);
}

}  // namespace

Output sigmoid_cross_entropy_with_logits(const Scope& scope, const Output& labels,
                                         const Output& logits) {
  if (!is_given(scope, labels, "labels") || !is_given(scope, logits, "logits")) return {};
  // max(x, 0) - x * z + log(1 + exp(-|x|)), with a slope on both sides of 0 that is right at 0.
  const Output zeros = ops::zeros_like(scope, logits);
  const Output is_positive = ops::greater_equal(scope, logits, zeros);
  const Output positive = ops::select(scope, is_positive, logits, zeros);
  const Output falling = ops::select(scope, is_positive, ops::neg(scope, logits), logits);
  return ops::add(scope.with_name("xentropy"),
                  ops::sub(scope, positive, ops::mul(scope, logits, labels)),
                  ops::log1p(scope, ops::exp(scope, falling)));
}

namespace losses {

Output sparse_softmax_cross_entropy(const VariableScope& scope, const Output& labels,
                                    const Output& logits, const LossOptions& options) {
  const Scope inside = loss_scope(scope, "sparse_softmax_cross_entropy_loss");
  if (!is_given(inside, labels, "labels") || !is_given(inside, logits, "logits")) return {};
  const Output rows = as_matrix(inside, precise(inside, logits));
  if (!rows.has_value()) return {};
  const PartialShape own = shape_of(labels), of_logits = shape_of(logits);
  const auto outer =
      PartialShape::create(of_logits.dims().subspan(0, static_cast<size_t>(of_logits.rank()) - 1));
  if (!own.merge(outer.value()).ok()) {
    scope.scope().fail(
        invalid("labels have shape ", own.to_string(), ", logits ", of_logits.to_string(),
                "; labels must have that of logits without the last axis"),
        inside.surroundings().name_scope);
    return {};
  }
  const Scope node = inside.with_name("xentropy");
  if (of_logits.rank() == 2)
    return weighted_loss(
        scope, inside,
        as_type(inside, ops::sparse_softmax_cross_entropy_with_logits(node, rows, labels).loss,
                logits.dtype()),
        options);
  const Output flat = ops::reshape(inside, labels, Tensor::vector<int32_t>({-1}));
  const Output each = ops::sparse_softmax_cross_entropy_with_logits(node, rows, flat).loss;
  const Output losses = ops::reshape(inside, each, ops::shape(inside, labels));
  return weighted_loss(scope, inside, as_type(inside, losses, logits.dtype()), options);
}

Output softmax_cross_entropy(const VariableScope& scope, const Output& onehot_labels,
                             const Output& logits, const CrossEntropyOptions& options) {
  const Scope inside = loss_scope(scope, "softmax_cross_entropy_loss");
  if (!fit(inside, onehot_labels, logits)) return {};
  const Output narrow = precise(inside, logits);
  Output labels = as_type(inside, onehot_labels, narrow.dtype());
  if (options.label_smoothing > 0) {
    const int64_t classes = shape_of(logits).has_rank() && shape_of(logits).rank() > 0
                                ? shape_of(logits).dim(shape_of(logits).rank() - 1)
                                : kUnknownDim;
    if (classes < 1) {
      inside.fail(invalid("label_smoothing needs to know the number of classes"), "losses");
      return {};
    }
    labels = ops::add_v2(inside, ops::mul(inside, labels, 1.0 - options.label_smoothing),
                         options.label_smoothing / static_cast<double>(classes));
  }
  labels = ops::stop_gradient(inside.with_name("labels_stop_gradient"), labels);
  const Output rows = as_matrix(inside, narrow);
  if (!rows.has_value()) return {};
  Output losses = ops::softmax_cross_entropy_with_logits(inside.with_name("xentropy"), rows,
                                                         as_matrix(inside, labels))
                      .loss;
  if (shape_of(logits).rank() != 2) {
    const Output sizes = ops::shape(inside, logits);
    const Output outer = ops::slice(inside, sizes, {0}, {shape_of(logits).rank() - 1});
    losses = ops::reshape(inside, losses, outer);
  }
  return weighted_loss(scope, inside, as_type(inside, losses, logits.dtype()),
                       {.weights = options.weights, .reduction = options.reduction});
}

Output sigmoid_cross_entropy(const VariableScope& scope, const Output& multi_class_labels,
                             const Output& logits, const CrossEntropyOptions& options) {
  const Scope inside = loss_scope(scope, "sigmoid_cross_entropy_loss");
  if (!fit(inside, multi_class_labels, logits)) return {};
  Output labels = as_type(inside, multi_class_labels, logits.dtype());
  if (options.label_smoothing > 0)
    labels = ops::add_v2(inside, ops::mul(inside, labels, 1 - options.label_smoothing),
                         0.5 * options.label_smoothing);
  const Output losses = sigmoid_cross_entropy_with_logits(inside, labels, logits);
  return weighted_loss(scope, inside, losses,
                       {.weights = options.weights, .reduction = options.reduction});
}

Output mean_squared_error(const VariableScope& scope, const Output& labels,
                          const Output& predictions, const LossOptions& options) {
  const Scope inside = loss_scope(scope, "mean_squared_error");
  if (!fit(inside, labels, predictions)) return {};
  const Output losses = ops::squared_difference(inside, as_type(inside, predictions, DType::f32),
                                                as_type(inside, labels, DType::f32));
  return weighted_loss(scope, inside, losses, options);
}

Output absolute_difference(const VariableScope& scope, const Output& labels,
                           const Output& predictions, const LossOptions& options) {
  const Scope inside = loss_scope(scope, "absolute_difference");
  if (!fit(inside, labels, predictions)) return {};
  const Output difference = ops::sub(inside, as_type(inside, predictions, DType::f32),
                                     as_type(inside, labels, DType::f32));
  return weighted_loss(scope, inside, ops::abs(inside, difference), options);
}

Output compute_weighted_loss(const VariableScope& scope, const Output& losses,
                             const LossOptions& options) {
  return weighted_loss(scope, loss_scope(scope, "weighted_loss"), losses, options);
}

Output get_total_loss(const VariableScope& scope) {
  InputList all;
  for (const Output& loss : scope.collections().losses) all.emplace_back(loss);
  for (const Output& loss : scope.collections().regularization_losses) all.emplace_back(loss);
  if (all.empty()) {
    scope.scope().fail(invalid("there are no losses to add up"), "get_total_loss");
    return {};
  }
  return ops::add_n(scope.scope().with_name("total_loss"), all);
}

}  // namespace losses

namespace regularizers {

Regularizer l1(double factor) {
  return [factor](const Scope& scope, const Output& value) {
    return ops::mul(scope, reduce_sum(scope, ops::abs(scope, value)), factor);
  };
}

Regularizer l2(double factor) {
  return [factor](const Scope& scope, const Output& value) {
    return ops::mul(scope, reduce_sum(scope, ops::square(scope, value)), factor);
  };
}

}  // namespace regularizers
}  // namespace millrace
