#include "millrace/train/decays.h"

#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "millrace/train/optimizers.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::Model;

// A rate at several steps.
void check_rates(Model& model, const Output& step, const Output& rate,
                 const std::vector<std::pair<int64_t, double>>& expected) {
  for (const auto& each : expected) {
    const auto at = each.first;
    const double value = each.second;
    CAPTURE(at);
    const float reached = model.run(rate, {{step.name(), Tensor::scalar(at)}}).item<float>();
    CHECK(reached == doctest::Approx(value).epsilon(1e-6));
  }
}

TEST_CASE("rates fall as their formulas say, smoothly or in jumps") {
  Model model;
  const Scope& at = model.root.scope();
  const Output step = model.placeholder(DType::i64, {});
  check_rates(model, step, exponential_decay(at, 0.1, step, 10, 0.5),
              {{0, 0.1}, {5, 0.1 * std::sqrt(0.5)}, {20, 0.025}});
  check_rates(model, step, exponential_decay(at, 0.1, step, 10, 0.5, Falling::in_jumps),
              {{9, 0.1}, {10, 0.05}, {19, 0.05}});
  check_rates(model, step, natural_exp_decay(at, 0.1, step, 10, 0.5),
              {{0, 0.1}, {10, 0.1 * std::exp(-0.5)}});
  check_rates(model, step, inverse_time_decay(at, 0.1, step, 10, 0.5),
              {{0, 0.1}, {10, 0.1 / 1.5}, {40, 0.1 / 3}});
  check_rates(model, step, inverse_time_decay(at, 0.1, step, 10, 0.5, Falling::in_jumps),
              {{19, 0.1 / 1.5}});
  check_rates(model, step, cosine_decay(at, 0.1, step, 10, 0.2),
              {{0, 0.1}, {5, 0.06}, {10, 0.02}, {11, 0.02}});
}

TEST_CASE("a polynomial decay stays at its end, or goes round") {
  Model model;
  const Scope& at = model.root.scope();
  const Output step = model.placeholder(DType::i64, {});
  check_rates(model, step, polynomial_decay(at, 0.1, step, 10, {.end_learning_rate = 0.01}),
              {{0, 0.1}, {5, 0.055}, {10, 0.01}, {15, 0.01}});
  check_rates(model, step, polynomial_decay(at, 0.1, step, 10, {.power = 2.0}),
              {{5, 0.0999 * 0.25 + 0.0001}});
  check_rates(model, step,
              polynomial_decay(at, 0.1, step, 10, {.end_learning_rate = 0.01, .cycle = true}),
              {{0, 0.1}, {10, 0.01}, {15, 0.01 + 0.09 * 0.25}, {20, 0.01}});
}

TEST_CASE("a piece's rate is there up to its boundary") {
  Model model;
  const Output step = model.placeholder(DType::i64, {});
  check_rates(model, step, piecewise_constant(model.root, step, {10, 20}, {1, 0.5, 0.25}),
              {{0, 1}, {10, 1}, {11, 0.5}, {20, 0.5}, {21, 0.25}});
  piecewise_constant(model.root, step, {10}, {1});
  CHECK(model.status() ==
        "INVALID_ARGUMENT: piecewise_constant: 1 values and 1 boundaries: there must be one value "
        "more than boundaries");
}

TEST_CASE("an optimizer takes a rate that falls") {
  Model model;
  const Variable w = model.root.variable("w", 1.0);
  const Variable step = model.root.global_step();
  GradientDescentOptimizer descent(exponential_decay(model.root, 1.0, step, 1, 0.5));
  const Operation train = descent.minimize(model.root, w, {.global_step = step});
  model.initialize();
  model.perform(train);
  model.perform(train);
  CHECK(model.run(w).item<float>() == -0.5F);
}

}  // namespace
}  // namespace millrace
