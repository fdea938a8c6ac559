#include "millrace/train/sampled_losses.h"

#include <cmath>

#include <doctest/doctest.h>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/sampling.h"
#include "millrace/train/drawing.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

Variable filled(const Model& model, std::string_view name, const Shape& shape, double value) {
  return model.root.get_variable(name, shape, {.initializer = initializers::constant(value)});
}

TEST_CASE("a true class is told apart from those drawn, each against its own chance") {
  Model model;
  const Variable weights = filled(model, "weights", {9, 2}, 0.5);
  const Variable biases = filled(model, "biases", {9}, 0.25);
  const Output labels = model.placeholder(DType::i64, {-1, 1});
  const Output inputs = model.placeholder(DType::f32, {-1, 2});
  const Output loss =
      nce_loss(model.root, weights, biases, labels, inputs, {.num_sampled = 3, .seed = 5});
  // Draws what the loss draws.
  const auto [seed, seed2] = op_seeds(5);
  const auto drawn = ops::log_uniform_candidate_sampler(model.root, labels, 1, 3, true, 9,
                                                        {.seed = seed, .seed2 = seed2});
  const Output chances = ops::concat_v2(
      model.root,
      {ops::reshape(model.root, drawn.true_expected_count, {-1}), drawn.sampled_expected_count}, 0);
  model.initialize();
  const Session::Feeds feeds = {{labels.name(), Tensor::of<int64_t>({1, 1}, {1})},
                                {inputs.name(), Tensor::of<float>({1, 2}, {1, 2})}};
  const std::vector<float> expected = model.floats(chances, feeds);
  REQUIRE(expected.size() == 4);
  const double logit = 0.5 * 1 + 0.5 * 2 + 0.25;
  double sum = std::log1p(std::exp(std::log(expected[0]) - logit));
  for (size_t i = 1; i < 4; ++i) sum += std::log1p(std::exp(logit - std::log(expected[i])));
  check_near(model.floats(loss, feeds), {sum});
}

TEST_CASE("a loss over drawn classes refuses what does not fit, and says what it takes") {
  Model model;
  const Variable weights = filled(model, "weights", {3, 2}, 0), biases = filled(model, "b", {3}, 0);
  const Output labels = model.placeholder(DType::i64, {-1, 1});
  const Output inputs = model.placeholder(DType::f32, {-1, 2});
  CHECK_FALSE(
      nce_loss(model.root, weights, biases, labels, inputs, {.num_sampled = 4}).has_value());
  CHECK(model.status().find("4 classes drawn; it takes weights [classes, n]") != std::string::npos);
}

}  // namespace
}  // namespace millrace
