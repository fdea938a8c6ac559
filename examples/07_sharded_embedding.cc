// An embedding table that is too large for one ps: its rows are spread over two.
//
//   millrace run --job ps=2 --job worker=1 -- build/bin/07_sharded_embedding
//
// A step fetches the rows that its batch names, from whichever ps has them, and sends back their
// gradients. The model learns which users like which items from what they clicked.
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "numbers.h"

using namespace millrace;

constexpr int kUsers = 300, kItems = 200, kTastes = 4, kBatch = 256;

std::vector<double> tastes_of(Numbers& random, int count) {
  std::vector<double> tastes(static_cast<size_t>(count) * kTastes);
  for (double& each : tastes) each = random.normal();
  return tastes;
}

Status learn_tastes(const Replica& replica) {
  GraphBuilder graph(*standard_ops());
  const VariableScope model(replica.place(graph.root()));
  const Output user = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Output item = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Output liked = ops::placeholder(model, DType::f32, {.shape = PartialShape{-1}});
  const PartitionedVariable users = model.get_partitioned("users", {kUsers, 8}, 2);
  const PartitionedVariable items = model.get_partitioned("items", {kItems, 8}, 2);
  const Output both =
      ops::mul(model, embedding_lookup(model, users, user), embedding_lookup(model, items, item));
  const Output score = ops::sum(model, both, 1);
  const Output loss = losses::sigmoid_cross_entropy(model, liked, score);
  const Output total =
      losses::sigmoid_cross_entropy(model, liked, score, {.reduction = Reduction::sum});
  const Operation train =
      AdagradOptimizer(0.2).minimize(model, total, {.global_step = model.global_step()});
  const FirstValues first(model);
  for (const PartitionedVariable& table : {users, items})
    for (const Variable& part : table.parts)
      std::printf("%s: rows %s on %s\n", table.name.c_str(), part.shape.to_string().c_str(),
                  part.device().c_str());

  MR_ASSIGN(const auto session, replica.session(graph, first));
  Numbers random(0);
  const std::vector<double> of_users = tastes_of(random, kUsers);
  const std::vector<double> of_items = tastes_of(random, kItems);
  float reached = 0;
  for (int step = 0; step < 300; ++step) {
    std::vector<int64_t> u(kBatch), i(kBatch);
    std::vector<float> likes(kBatch);
    for (int64_t& each : u) each = random.below(kUsers);
    for (int64_t& each : i) each = random.below(kItems);
    for (int row = 0; row < kBatch; ++row) {
      double sum = 0;
      for (int taste = 0; taste < kTastes; ++taste)
        sum += of_users[u[row] * kTastes + taste] * of_items[i[row] * kTastes + taste];
      likes[row] = sum > 0 ? 1 : 0;
    }
    MR_ASSIGN(const auto values, session->run({{user.name(), Tensor::vector<int64_t>(u)},
                                               {item.name(), Tensor::vector<int64_t>(i)},
                                               {liked.name(), Tensor::vector<float>(likes)}},
                                              {loss.name()}, {.targets = {train.name()}}));
    reached = values[0].item<float>();
  }
  std::printf("loss %.3f\n", reached);
  return {};
}

int main() { return as_replica(learn_tastes); }
