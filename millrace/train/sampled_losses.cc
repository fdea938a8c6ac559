#include "millrace/train/sampled_losses.h"

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/sampling.h"
#include "millrace/train/drawing.h"
#include "millrace/train/layers.h"
#include "millrace/train/losses.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

struct Classes {
  Output logits;
  Output wanted;  // of the logits' shape
};

// How sure the rows of `inputs` are of each class, against how often it is drawn.
Output against_chance(const Scope& scope, const Output& logits, const Output& expected) {
  return ops::sub(scope, logits, ops::log(scope, ops::stop_gradient(scope, expected)));
}

Classes true_and_drawn(const Scope& scope, const Variable& weights, const Variable& biases,
                       const Output& labels, int64_t num_true, const Output& inputs,
                       const SampledClassesOptions& options) {
  const auto [seed, seed2] = op_seeds(options.seed);
  const auto drawn =
      ops::log_uniform_candidate_sampler(scope, labels, num_true, options.num_sampled, true,
                                         weights.shape[0], {.seed = seed, .seed2 = seed2});
  const int64_t width = weights.shape[1];
  const Output flat = ops::reshape(scope, labels, {int64_t{-1}});
  const Output rows =
      ops::reshape(scope, embedding_lookup(scope, weights, flat), {int64_t{-1}, num_true, width});
  const Output offsets =
      ops::reshape(scope, embedding_lookup(scope, biases, flat), {int64_t{-1}, num_true});
  const Output products = ops::mul(scope, ops::expand_dims(scope, inputs, 1), rows);
  const Output of_true = against_chance(
      scope, ops::add_v2(scope, ops::sum(scope, products, 2), offsets), drawn.true_expected_count);

  const Output candidates = drawn.sampled_candidates;
  const Output by_drawn = ops::mat_mul(scope, inputs, embedding_lookup(scope, weights, candidates),
                                       {.transpose_b = true});
  const Output of_drawn = against_chance(
      scope, ops::add_v2(scope, by_drawn, embedding_lookup(scope, biases, candidates)),
      drawn.sampled_expected_count);
  const Output share = constant(scope, 1.0 / static_cast<double>(num_true), DType::f32);
  return {.logits = ops::concat_v2(scope, {of_true, of_drawn}, 1),
          .wanted = ops::concat_v2(scope,
                                   {ops::fill(scope, ops::shape(scope, of_true), share),
                                    ops::zeros_like(scope, of_drawn)},
                                   1)};
}

}  // namespace

Output nce_loss(const Scope& scope, const Variable& weights, const Variable& biases,
                const Output& labels, const Output& inputs, const SampledClassesOptions& options) {
  const Scope inside = scope.named("nce_loss");
  if (!weights.has_value() || !biases.has_value()) return {};
  if (!is_given(inside, labels, "labels") || !is_given(inside, inputs, "inputs")) return {};
  const PartialShape of_labels = shape_of(labels);
  const bool fits = weights.shape.rank() == 2 && biases.shape == Shape{weights.shape[0]} &&
                    of_labels.rank() == 2 && of_labels.dim(1) > 0 && shape_of(inputs).rank() == 2;
  if (!fits || options.num_sampled <= 0 || options.num_sampled > weights.shape[0]) {
    inside.fail(invalid("weights ", weights.shape.to_string(), ", biases ",
                        biases.shape.to_string(), ", labels ", of_labels.to_string(), ", inputs ",
                        shape_of(inputs).to_string(), " and ", options.num_sampled,
                        " classes drawn; it takes weights [classes, n], biases [classes], labels "
                        "[batch, true classes], inputs [batch, n], and draws at most all classes"),
                "nce_loss");
    return {};
  }
  const Classes classes =
      true_and_drawn(inside, weights, biases, labels, of_labels.dim(1), inputs, options);
  const Output each = sigmoid_cross_entropy_with_logits(inside, classes.wanted, classes.logits);
  return ops::sum(inside, each, 1);
}

}  // namespace millrace
