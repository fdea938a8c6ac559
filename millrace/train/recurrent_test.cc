#include "millrace/train/recurrent.h"

#include <cmath>

#include <doctest/doctest.h>

#include "millrace/autodiff/scope_gradients.h"
#include "millrace/train/reductions.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// An LSTM of one unit over one feature, whose gates all have the weights of `x` and `h`.
struct Unit {
  double x, h, c = 0, out = 0;
  double step(double input) {
    const double sum = x * input + h * out;
    c = sigmoid(sum + 1) * c + sigmoid(sum) * std::tanh(sum);
    out = sigmoid(sum) * std::tanh(c);
    return out;
  }
};

layers::LstmOptions weighted(double x, double h) {
  const auto a = static_cast<float>(x), b = static_cast<float>(h);
  return {.kernel_initializer =
              initializers::value(Tensor::of<float>({2, 4}, {a, a, a, a, b, b, b, b}))};
}

TEST_CASE("an LSTM gives what it puts out at each step, and goes on from a state that is fed") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, -1, 1});
  const Lstm lstm = layers::lstm(model.root, x, 1, weighted(0.5, -0.25));
  model.initialize();
  Unit first{.x = 0.5, .h = -0.25}, second = first;
  const Session::Feeds both = {{x.name(), Tensor::of<float>({2, 3, 1}, {1, 2, -1, 0, 3, 1})}};
  check_near(model.floats(lstm.outputs, both), {first.step(1), first.step(2), first.step(-1),
                                                second.step(0), second.step(3), second.step(1)});
  const Tensor memory = model.run(lstm.after.memory, both);
  const Tensor output = model.run(lstm.after.output, both);
  check_near({memory.flat<float>()[0], memory.flat<float>()[1]}, {first.c, second.c});
  check_near(model.floats(lstm.outputs, {{x.name(), Tensor::of<float>({2, 1, 1}, {2, 2})},
                                         {lstm.before.memory.name(), memory},
                                         {lstm.before.output.name(), output}}),
             {first.step(2), second.step(2)});
}

TEST_CASE("its variables are those of dynamic_rnn over an LSTMCell, and learn from any step") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, -1, 1});
  const Lstm lstm = layers::lstm(model.root, x, 1, weighted(0.5, -0.25));
  const std::vector<Variable> made = model.root.collections().trainable_variables;
  REQUIRE(made.size() == 2);
  CHECK(made[0].name == "rnn/lstm_cell/kernel");
  CHECK(made[0].shape == Shape{2, 4});
  CHECK(made[1].name == "rnn/lstm_cell/bias");
  const Output total = reduce_sum(model.root, lstm.outputs);
  const std::vector<ScopeGradient> gradient = gradients(model.root, {total}, {made[0].reference});
  model.initialize();
  const Session::Feeds feeds = {{x.name(), Tensor::of<float>({1, 2, 1}, {1, 2})}};
  const std::vector<float> slopes = model.floats(gradient[0].values, feeds);
  // All gates have the weight of x: their slopes add up to that of moving it.
  const auto moved = [](double by) {
    Unit unit{.x = 0.5 + by, .h = -0.25};
    return unit.step(1) + unit.step(2);
  };
  const double slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
  CHECK(slopes[0] + slopes[1] + slopes[2] + slopes[3] == doctest::Approx(slope).epsilon(1e-4));
}

TEST_CASE("what an LSTM can't take is an error with its name") {
  for (const auto& [dtype, rank, units] :
       {std::tuple{DType::f32, 2, 1}, {DType::f64, 3, 1}, {DType::f32, 3, 0}}) {
    Model model;
    const Output x =
        rank == 2 ? model.placeholder(dtype, {-1, 1}) : model.placeholder(dtype, {-1, -1, 1});
    CHECK_FALSE(layers::lstm(model.root, x, units, {.name = "reads"}).outputs.has_value());
    CHECK(model.status().find("reads") != std::string::npos);
  }
}

}  // namespace
}  // namespace millrace
