// One program, one session, several devices: each tower has a part of every batch.
//
//   millrace run --job chief=1 --job tower=2 -- build/bin/05_towers
//
// The chief has the variables, builds the graph for all, and runs it; the towers only lend their
// devices.
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "digits.h"

using namespace millrace;

Status share_batches(const Replica& replica) {
  const Digits digits = Digits::load(2000);
  const int towers = replica.num_tasks("tower");
  GraphBuilder graph(*standard_ops());
  const VariableScope root(graph.root());
  const Output x = ops::placeholder(root, DType::f32, {.shape = PartialShape{-1, 64}});
  const Output y = ops::placeholder(root, DType::i64, {.shape = PartialShape{-1}});
  const auto parts_x = ops::split(root, 0, x, towers), parts_y = ops::split(root, 0, y, towers);
  GradientDescentOptimizer optimizer(0.3);
  std::vector<std::vector<GradientAndVariable>> gradients;
  InputList losses;
  for (int tower = 0; tower < towers; ++tower) {
    const Scope place = replica_device(root, {.cluster = replica.options.cluster,
                                              .ps_device = "/job:chief",
                                              .worker_device = str_cat("/job:tower/task:", tower)});
    const VariableScope model =
        root.in(place).enter("model", tower == 0 ? Reuse::none : Reuse::all);
    const Output hidden = layers::dense(
        model, parts_x[tower], 32,
        {.activation = ops::relu, .kernel_initializer = initializers::glorot_uniform(1)});
    const Output logits =
        layers::dense(model, hidden, 10, {.kernel_initializer = initializers::glorot_uniform(2)});
    const Output loss = losses::sparse_softmax_cross_entropy(model, parts_y[tower], logits);
    gradients.push_back(optimizer.compute_gradients(model, loss));
    losses.emplace_back(loss);
  }
  MR_TRY(graph.status());
  std::vector<GradientAndVariable> means = gradients[0];
  for (size_t i = 0; i < means.size(); ++i) {
    InputList all;
    for (const auto& of_tower : gradients) all.emplace_back(of_tower[i].gradient.values);
    means[i].gradient.values = ops::add_n(root, all) / towers;
  }
  const Operation train = optimizer.apply_gradients(root, means);
  const Output loss = ops::add_n(root, losses) / towers;
  const FirstValues first(root);

  MR_ASSIGN(const auto session, Session::create(*replica.server));
  MR_TRY(session->extend(graph));
  MR_TRY(first.give(*session));
  Batches batches(digits, int64_t{32} * towers, 0);
  for (int step = 1; step <= 300; ++step) {
    const Digits batch = batches.next();
    MR_ASSIGN(const auto values,
              session->run({{x.name(), batch.pictures}, {y.name(), batch.labels}}, {loss.name()},
                           {.targets = {train.name()}}));
    if (step % 100 == 0) std::printf("step %d loss %.3f\n", step, values[0].item<float>());
  }
  return {};
}

int main() { return as_replica(share_batches); }
