// Finds the line that points lie on.
//
//   build/bin/01_linear_regression
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "numbers.h"

using namespace millrace;

Status find_line(const Replica& /*alone*/) {
  Tensor points = Tensor::allocate(DType::f32, {100}).value();
  Tensor heights = Tensor::allocate(DType::f32, {100}).value();
  Numbers random(0);
  for (int i = 0; i < 100; ++i) {
    points.mutable_flat<float>()[i] = static_cast<float>(random.uniform(-1, 1));
    heights.mutable_flat<float>()[i] = 2 * points.flat<float>()[i] - 1;
  }

  GraphBuilder graph(*standard_ops());
  const VariableScope model(graph.root());
  const Output x = ops::placeholder(model.scope().with_name("x"), DType::f32);
  const Output y = ops::placeholder(model.scope().with_name("y"), DType::f32);
  const Variable weight = model.variable("weight", 0.0);
  const Variable bias = model.variable("bias", 0.0);
  const Output loss = reduce_mean(model, ops::square(model, weight * x + bias - y));
  const Operation train = GradientDescentOptimizer(0.3).minimize(model, loss);
  const Operation init = global_variables_initializer(model);

  MR_ASSIGN(const auto session, Session::create(""));
  MR_TRY(session->extend(graph));
  MR_TRY(session->run({}, {}, {.targets = {init.name()}}));
  for (int step = 0; step < 100; ++step) {
    MR_ASSIGN(const auto values, session->run({{x.name(), points}, {y.name(), heights}},
                                              {loss.name()}, {.targets = {train.name()}}));
    if (step % 20 == 0) std::printf("step %d loss %.6f\n", step, values[0].item<float>());
  }
  MR_ASSIGN(const auto line, session->run({}, {weight.value.name(), bias.value.name()}));
  std::printf("y = %.3f x + %.3f\n", line[0].item<float>(), line[1].item<float>());
  return {};
}

int main() { return alone(find_line); }
