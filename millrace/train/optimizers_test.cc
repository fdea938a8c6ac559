#include "millrace/train/optimizers.h"

#include <cmath>

#include <doctest/doctest.h>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/train/layers.h"
#include "millrace/train/reductions.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

// Two steps on sum(x * w): the gradient is x, {1, 3} in each.
struct DenseSteps {
  Model model;
  Variable w = model.root.variable("w", {2.0, -1.0});
  Output x = constant(model.root, {1.0, 3.0});
  Variable step = model.root.global_step();

  std::vector<float> after_two(Optimizer& optimizer) {
    const Output loss = reduce_sum(model.root, ops::mul(model.root, x, w));
    const Operation train = optimizer.minimize(model.root, loss, {.global_step = step});
    REQUIRE(model.status() == "OK");
    CHECK(train.name() == optimizer.name());
    model.initialize();
    model.perform(train);
    model.perform(train);
    CHECK(model.run(step).item<int64_t>() == 2);
    return model.floats(w);
  }
};

// What a formula of one element gives, for both of them.
template <class Rule>
std::vector<double> both(Rule rule) {
  return {rule(2.0, 1.0), rule(-1.0, 3.0)};
}

TEST_CASE("gradient descent follows its formula") {
  DenseSteps steps;
  GradientDescentOptimizer optimizer(0.1);
  check_near(steps.after_two(optimizer), both([](double w, double g) { return w - 0.2 * g; }));
}

TEST_CASE("momentum follows its formula, Nesterov's too") {
  for (const auto kind : {MomentumOptimizer::Kind::plain, MomentumOptimizer::Kind::nesterov}) {
    DenseSteps steps;
    MomentumOptimizer optimizer(0.1, 0.9, kind);
    const bool ahead = kind == MomentumOptimizer::Kind::nesterov;
    check_near(steps.after_two(optimizer), both([&](double w, double g) {
                 double kept = 0;
                 for (int step = 0; step < 2; ++step) {
                   kept = 0.9 * kept + g;
                   w -= ahead ? 0.1 * g + 0.1 * 0.9 * kept : 0.1 * kept;
                 }
                 return w;
               }));
    check_near(steps.model.floats(optimizer.slot(steps.w, "momentum")), {1.9, 5.7});
    CHECK(optimizer.slot(steps.w, "momentum").name == "w/Momentum");
  }
}

TEST_CASE("Adagrad follows its formula") {
  DenseSteps steps;
  AdagradOptimizer optimizer(0.1);
  check_near(steps.after_two(optimizer), both([](double w, double g) {
               double sum = 0.1;
               for (int step = 0; step < 2; ++step) {
                 sum += g * g;
                 w -= 0.1 * g / std::sqrt(sum);
               }
               return w;
             }));
  CHECK(optimizer.slot(steps.w, "accumulator").name == "w/Adagrad");
}

TEST_CASE("Adam follows its formula, and has slots and powers by TensorFlow's names") {
  DenseSteps steps;
  AdamOptimizer optimizer(0.1);
  check_near(steps.after_two(optimizer), both([](double w, double g) {
               double m = 0, v = 0;
               for (int step = 1; step <= 2; ++step) {
                 m = 0.9 * m + 0.1 * g;
                 v = 0.999 * v + 0.001 * g * g;
                 const double rate =
                     0.1 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
                 w -= rate * m / (std::sqrt(v) + 1e-8);
               }
               return w;
             }));
  CHECK(optimizer.slot(steps.w, "m").name == "w/Adam");
  CHECK(optimizer.slot(steps.w, "v").name == "w/Adam_1");
  CHECK_FALSE(optimizer.slot(steps.w, "momentum").has_value());
  const Output power(
      Operation(steps.w.op().state(), steps.model.graph.graph().find("beta1_power")->id), 0);
  check_near(steps.model.floats(power), {0.9 * 0.9 * 0.9});
}

TEST_CASE("RMSProp follows its formula, centered or not") {
  for (const bool centered : {false, true}) {
    DenseSteps steps;
    RMSPropOptimizer optimizer(0.1, {.momentum = 0.5, .epsilon = 1e-3, .centered = centered});
    check_near(steps.after_two(optimizer), both([&](double w, double g) {
                 double rms = 1, mean = 0, momentum = 0;
                 for (int step = 0; step < 2; ++step) {
                   rms = 0.9 * rms + 0.1 * g * g;
                   mean = 0.9 * mean + 0.1 * g;
                   const double divisor = rms - (centered ? mean * mean : 0) + 1e-3;
                   momentum = 0.5 * momentum + 0.1 * g / std::sqrt(divisor);
                   w -= momentum;
                 }
                 return w;
               }));
  }
}

// A table of three rows, of which a step looks up row 2 once and row 0 twice.
struct SparseSteps {
  Model model;
  Variable table = model.root.get_variable("table", {3, 1}, {.initializer = initializers::ones()});

  std::vector<float> after_two(Optimizer& optimizer) {
    const Output rows = embedding_lookup(model.root, table, constant(model.root, {0, 2, 0}));
    const Output loss = reduce_sum(model.root, rows);
    const auto pairs = optimizer.compute_gradients(model.root, loss);
    REQUIRE(model.status() == "OK");
    CHECK(pairs[0].gradient.is_slices());
    const Operation train = optimizer.apply_gradients(model.root, pairs);
    REQUIRE(model.status() == "OK");
    model.initialize();
    model.perform(train);
    model.perform(train);
    return model.floats(table);
  }
  size_t number_of(std::string_view op) const {
    size_t count = 0;
    for (const Node& node : model.graph.graph().nodes()) count += node.op->name == op ? 1 : 0;
    return count;
  }
};

TEST_CASE("rows stay rows up to the optimizer, and those that come twice count once, summed") {
  const auto adagrad = [](double g) {
    double w = 1, sum = 0.1;
    for (int step = 0; step < 2; ++step) {
      sum += g * g;
      w -= 0.1 * g / std::sqrt(sum);
    }
    return w;
  };
  SUBCASE("gradient descent") {
    SparseSteps steps;
    GradientDescentOptimizer optimizer(0.1);
    check_near(steps.after_two(optimizer), {0.6, 1.0, 0.8});
    CHECK(steps.number_of("ScatterSub") == 1);
  }
  SUBCASE("momentum") {
    SparseSteps steps;
    MomentumOptimizer optimizer(0.1, 0.9);
    check_near(steps.after_two(optimizer), {1 - 0.2 - 0.38, 1.0, 1 - 0.1 - 0.19});
    CHECK(steps.number_of("SparseApplyMomentum") == 1);
  }
  SUBCASE("Adagrad") {
    SparseSteps steps;
    AdagradOptimizer optimizer(0.1);
    check_near(steps.after_two(optimizer), {adagrad(2), 1.0, adagrad(1)});
    CHECK(steps.number_of("SparseApplyAdagrad") == 1);
  }
  SUBCASE("RMSProp") {
    SparseSteps steps;
    RMSPropOptimizer optimizer(0.1);
    CHECK(steps.after_two(optimizer)[1] == 1.0F);
    CHECK(steps.number_of("SparseApplyRMSProp") == 1);
  }
  SUBCASE("Adam, as if the other rows had a gradient of 0") {
    SparseSteps steps;
    AdamOptimizer optimizer(0.1);
    const auto adam = [](double g) {
      double w = 1, m = 0, v = 0;
      for (int step = 1; step <= 2; ++step) {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double rate = 0.1 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
        w -= rate * m / (std::sqrt(v) + 1e-8);
      }
      return w;
    };
    check_near(steps.after_two(optimizer), {adam(2), 1.0, adam(1)});
    CHECK(steps.number_of("ScatterAdd") == 2);
  }
}

TEST_CASE("a rate may be a value that the graph computes, of another type than the variable") {
  Model model;
  const Variable w = model.root.variable("w", constant(model.root, 1.0, DType::f64));
  const Output rate = ops::placeholder_with_default(model.root, 0.5F, PartialShape::scalar());
  GradientDescentOptimizer optimizer(rate);
  const Operation train = optimizer.minimize(model.root, ops::mul(model.root, w, 2.0));
  REQUIRE(model.status() == "OK");
  model.initialize();
  model.perform(train);
  CHECK(model.run(w).item<double>() == 0.0);
}

TEST_CASE("only the variables that were asked for are trained") {
  Model model;
  const Variable a = model.root.variable("a", 1.0), b = model.root.variable("b", 1.0);
  GradientDescentOptimizer optimizer(1.0);
  const Operation train = optimizer.minimize(model.root, a * b.value, {.variables = {b}});
  REQUIRE(model.status() == "OK");
  model.initialize();
  model.perform(train);
  CHECK(model.run(a).item<float>() == 1.0F);
  CHECK(model.run(b).item<float>() == 0.0F);
}

TEST_CASE("what can't be trained is said with its name") {
  SUBCASE("no variables") {
    Model model;
    GradientDescentOptimizer(0.1).minimize(model.root, constant(model.root, 1.0));
    CHECK(model.status() == "INVALID_ARGUMENT: GradientDescent: no variables to optimize");
  }
  SUBCASE("no gradient") {
    Model model;
    model.root.variable("w", 1.0);
    GradientDescentOptimizer(0.1).minimize(model.root, constant(model.root, 1.0));
    CHECK(model.status() ==
          "INVALID_ARGUMENT: GradientDescent: no gradients provided for any variable: 'w'");
  }
  SUBCASE("an integer") {
    Model model;
    const Variable n = model.root.variable("n", 1);
    AdamOptimizer().minimize(model.root, n);
    CHECK(model.status().find("variable 'n' is int32") != std::string::npos);
  }
}

TEST_CASE("an optimizer that is used twice keeps its slots and its powers") {
  Model model;
  const Variable w = model.root.variable("w", 1.0);
  AdamOptimizer optimizer;
  const Operation first = optimizer.minimize(model.root, w);
  const size_t variables = model.root.collections().global_variables.size();
  const Operation second = optimizer.minimize(model.root, w);
  REQUIRE(model.status() == "OK");
  CHECK(second.name() == "Adam_1");
  CHECK(model.root.collections().global_variables.size() == variables);
}

}  // namespace
}  // namespace millrace
