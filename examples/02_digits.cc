// Tells handwritten digits apart, in one process.
//
//   build/bin/02_digits
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "digits.h"

using namespace millrace;

Status tell_digits(const Replica& replica) {
  const Digits digits = Digits::load(2000), tests = Digits::load(500, 1);
  GraphBuilder graph(*standard_ops());
  const VariableScope model(replica.place(graph.root()));
  const Output x = ops::placeholder(model, DType::f32, {.shape = PartialShape{-1, 64}});
  const Output y = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Output hidden = layers::dense(
      model, x, 64,
      {.activation = ops::relu, .kernel_initializer = initializers::glorot_uniform(1)});
  const Output logits =
      layers::dense(model, hidden, 10, {.kernel_initializer = initializers::glorot_uniform(2)});
  const Output loss = losses::sparse_softmax_cross_entropy(model, y, logits);
  const Output correct = accuracy(model, y, logits);
  const Variable step = model.global_step();
  const Operation train = AdamOptimizer(0.005).minimize(model, loss, {.global_step = step});
  const FirstValues first(model);

  MR_ASSIGN(const auto session, replica.session(graph, first));
  Batches batches(digits, 64, replica.options.task);
  for (int64_t at = 0; at < 500;) {
    const Digits batch = batches.next();
    MR_ASSIGN(const auto values,
              session->run({{x.name(), batch.pictures}, {y.name(), batch.labels}},
                           {loss.name(), train.name()}));
    at = values[1].item<int64_t>();
    if (at % 100 == 0) std::printf("step %d loss %.3f\n", int(at), values[0].item<float>());
  }
  MR_ASSIGN(const auto reached,
            session->run({{x.name(), tests.pictures}, {y.name(), tests.labels}}, {correct.name()}));
  std::printf("accuracy %.3f\n", reached[0].item<float>());
  return {};
}

int main() { return alone(tell_digits); }
