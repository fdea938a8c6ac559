#include "millrace/train/losses.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/train/reductions.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

Output rows_of_two(const Model& model, std::initializer_list<float> values) {
  Tensor made =
      Tensor::allocate(DType::f32, Shape{static_cast<int64_t>(values.size()) / 2, 2}).value();
  std::ranges::copy(values, made.mutable_flat<float>().begin());
  return constant(model.root, made);
}

// The cross entropy of class 0 for logits a and b.
double entropy(double a, double b) { return std::log1p(std::exp(b - a)); }

TEST_CASE("cross entropies are means over rows, of classes and of probabilities") {
  Model model;
  const Output logits = rows_of_two(model, {1, 2, 5, 1});
  const Output classes = constant(model.root, {0, 1});
  const Output onehot = rows_of_two(model, {1, 0, 0, 1});
  const double mean = (entropy(1, 2) + entropy(1, 5)) / 2;
  check_near(model.floats(losses::sparse_softmax_cross_entropy(model.root, classes, logits)),
             {mean});
  check_near(model.floats(losses::softmax_cross_entropy(model.root, onehot, logits)), {mean});
  const double even = 0.1 * (entropy(2, 1) + entropy(5, 1) - entropy(1, 2) - entropy(1, 5)) / 2;
  check_near(model.floats(losses::softmax_cross_entropy(model.root, onehot, logits,
                                                        {.label_smoothing = 0.2})),
             {mean + even});
  CHECK(model.root.collections().losses.size() == 3);
}

TEST_CASE("classes of more axes than one are rows all the same") {
  Model model;
  const Output logits = model.placeholder(DType::f32, {-1, 1, 2});
  const Output classes = model.placeholder(DType::i32, {-1, 1});
  const Output loss = losses::sparse_softmax_cross_entropy(model.root, classes, logits,
                                                           {.reduction = Reduction::none});
  Tensor given = Tensor::allocate(DType::f32, Shape{2, 1, 2}).value();
  std::ranges::copy(std::vector<float>{1, 2, 5, 1}, given.mutable_flat<float>().begin());
  Tensor labels = Tensor::allocate(DType::i32, Shape{2, 1}).value();
  std::ranges::copy(std::vector<int32_t>{0, 1}, labels.mutable_flat<int32_t>().begin());
  const Tensor made = model.run(loss, {{logits.name(), given}, {classes.name(), labels}});
  CHECK(made.shape() == Shape{2, 1});
  check_near({made.flat<float>()[0], made.flat<float>()[1]}, {entropy(1, 2), entropy(1, 5)});
}

TEST_CASE("sigmoid cross entropy is of each element, and finite far out") {
  Model model;
  const Output loss =
      losses::sigmoid_cross_entropy(model.root, rows_of_two(model, {1, 0}),
                                    rows_of_two(model, {1, 1000}), {.reduction = Reduction::none});
  check_near(model.floats(loss), {std::log1p(std::exp(-1.0)), 1000});
}

TEST_CASE("weights weigh, and each reduction divides by its own number") {
  const auto reduced = [](Reduction reduction) {
    Model model;
    const Output labels = rows_of_two(model, {0, 0, 0, 0});
    const Output predictions = rows_of_two(model, {1, 2, 3, 4});
    Tensor weights = Tensor::allocate(DType::f32, Shape{2, 1}).value();
    weights.mutable_flat<float>()[0] = 0;
    weights.mutable_flat<float>()[1] = 4;
    return model.floats(losses::absolute_difference(model.root, labels, predictions,
                                                    {.weights = weights, .reduction = reduction}));
  };
  check_near(reduced(Reduction::none), {0, 0, 12, 16});
  check_near(reduced(Reduction::sum), {28});
  check_near(reduced(Reduction::mean), {28.0 / 8});
  check_near(reduced(Reduction::sum_over_batch_size), {28.0 / 4});
  check_near(reduced(Reduction::sum_by_nonzero_weights), {28.0 / 2});
}

TEST_CASE("no weight but 0 is a loss of 0 and not of nothing divided by nothing") {
  Model model;
  const Output one = rows_of_two(model, {1, 1});
  check_near(model.floats(losses::mean_squared_error(model.root, one, rows_of_two(model, {3, 3}),
                                                     {.weights = 0.0})),
             {0});
}

TEST_CASE("shapes and weights that don't fit are refused") {
  SUBCASE("labels") {
    Model model;
    losses::mean_squared_error(model.root, rows_of_two(model, {1, 2}),
                               rows_of_two(model, {1, 2, 3, 4}));
    CHECK(model.status().find("labels [1,2] and predictions [2,2] must have the same shape") !=
          std::string::npos);
  }
  SUBCASE("classes") {
    Model model;
    losses::sparse_softmax_cross_entropy(model.root, constant(model.root, {1, 2, 3}),
                                         rows_of_two(model, {1, 2}));
    CHECK(model.status().find("labels have shape [3], logits [1,2]") != std::string::npos);
  }
  SUBCASE("weights") {
    Model model;
    const Output one = rows_of_two(model, {1, 1});
    losses::mean_squared_error(model.root, one, one, {.weights = constant(model.root, {1.0, 2.0})});
    CHECK(model.status().find("weights [2] can not be broadcast to losses [1,2]") !=
          std::string::npos);
  }
  SUBCASE("no losses") {
    Model model;
    losses::get_total_loss(model.root);
    CHECK(model.status() == "INVALID_ARGUMENT: get_total_loss: there are no losses to add up");
  }
}

TEST_CASE("accuracy is the share of rows whose largest is at the label") {
  Model model;
  const Output logits = rows_of_two(model, {1, 2, 5, 1, 0, 3, 4, 5});
  check_near(model.floats(accuracy(model.root, constant(model.root, {1, 0, 0, 1}), logits)),
             {0.75});
}

}  // namespace
}  // namespace millrace
