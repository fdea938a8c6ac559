// Training by hand-started tasks: each is told who it is by flags.
//
//   for each task:  build/bin/10_mnist_replica --job_name=worker --task_index=0
//       --ps_hosts=localhost:2222 --worker_hosts=localhost:2223,localhost:2224
//
// With MODEL_DIR set, worker 0 keeps checkpoints there, and goes on from the newest.
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "digits.h"

using namespace millrace;

Status train(const Replica& replica) {
  const Digits digits = Digits::load(2000);
  GraphBuilder graph(*standard_ops());
  const VariableScope model(replica.place(graph.root()));
  const Output x = ops::placeholder(model, DType::f32, {.shape = PartialShape{-1, 64}});
  const Output y = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Output hidden = layers::dense(model, x, 100, {.activation = ops::relu});
  const Output logits = layers::dense(model, hidden, 10);
  const Output loss = losses::sparse_softmax_cross_entropy(model, y, logits);
  const Variable step = model.global_step();
  const Operation train = AdamOptimizer(0.005).minimize(model, loss, {.global_step = step});

  const char* const folder = std::getenv("MODEL_DIR");
  MR_ASSIGN(
      const auto training,
      TrainingSession::begin(model, graph, *replica.server,
                             {.is_chief = replica.is_chief(),
                              .checkpoint_folder = folder ? folder : "",
                              .hooks = {std::make_shared<StopAtStep>(step, 300)},
                              .session = {.device_filters = {"/job:ps", replica.own_device()}}}));
  Batches batches(digits, 64, replica.options.task);
  while (!training->should_stop()) {
    const Digits batch = batches.next();
    MR_ASSIGN(const auto values,
              training->run({{x.name(), batch.pictures}, {y.name(), batch.labels}},
                            {loss.name(), train.name()}));
    const auto at = values[1].item<int64_t>();
    if (at % 50 == 0) std::printf("step %d loss %.3f\n", int(at), values[0].item<float>());
  }
  MR_TRY(training->end());
  std::printf("worker %d is done\n", replica.options.task);
  return {};
}

Status run(const std::vector<std::string>& flags) {
  MR_ASSIGN(const TfConfig told, read_cluster_flags(flags));
  Replica task{.options = {.cluster = told.cluster,
                           .job = told.task_type,
                           .task = told.task_index.value_or(0)}};
  MR_ASSIGN(task.server, Server::start(task.options));
  if (task.options.job != "ps") return train(task);
  task.server->join();
  return {};
}

int main(int count, char** words) {
  const Status status = run({words + 1, words + count});
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
