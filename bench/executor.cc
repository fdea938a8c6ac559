// Nodes per second of the executor alone: a chain and a fan of 1,000 NoOps and a random graph of
// 100,000; one thread, no pool.
//
// The baseline is what the counting itself costs.
#include "millrace/engine/executor.h"

#include <random>

#include "bench/bare_walk.h"
#include "bench/harness.h"

#include "millrace/base/runner.h"
#include "millrace/graph/graph.h"
#include "millrace/ops/all.h"

namespace millrace::bench {
namespace {

constexpr int kNodes = 1000;
constexpr int kManyNodes = 100'000;
constexpr int kRounds = 9;
constexpr int kNodesPerRound = 2'000'000;

Graph chain(const OpRegistry& ops) {
  Graph graph(ops);
  NodeId last = kNoNode;
  for (int i = 0; i < kNodes; ++i) {
    Graph::NewNode node{.name = "n" + std::to_string(i), .op = "NoOp"};
    if (last != kNoNode) node.control_inputs = {last};
    last = graph.add(std::move(node)).value();
  }
  return graph;
}

// One source, the rest behind it.
Graph fan(const OpRegistry& ops) {
  Graph graph(ops);
  const NodeId source = graph.add({.name = "source", .op = "NoOp"}).value();
  for (int i = 1; i < kNodes; ++i)
    (void)graph.add({.name = "n" + std::to_string(i), .op = "NoOp", .control_inputs = {source}})
        .value();
  return graph;
}

// Each node waits for two of the hundred before it: large enough that it matters where things lie.
Graph random_graph(const OpRegistry& ops) {
  Graph graph(ops);
  std::mt19937 random(1);
  for (int i = 0; i < kManyNodes; ++i) {
    Graph::NewNode node{.name = "n" + std::to_string(i), .op = "NoOp"};
    if (i >= 100) {
      const int first = static_cast<int>(random() % 100), second = static_cast<int>(random() % 100);
      node.control_inputs = {static_cast<NodeId>(i - 1 - first)};
      if (second != first) node.control_inputs.push_back(static_cast<NodeId>(i - 1 - second));
    }
    (void)graph.add(std::move(node)).value();
  }
  return graph;
}

void measure(const char* name, const Graph& graph) {
  DeviceContext device{.name = "/job:localhost/replica:0/task:0/device:CPU:0", .incarnation = 1};
  ResourceStore resources;
  device.resources = &resources;
  KernelCache kernels;
  const auto compiled =
      CompiledGraph::compile(graph, device, kernels, ClientTransfers::by_slot).value();
  Cancellation cancellation;
  CallerThread caller;
  bool failed = false;
  const auto step = [&] {
    StepArgs args{.context = {.step_id = 1, .device = &device, .cancellation = &cancellation},
                  .runner = &caller};
    run_step(compiled, args, Done<void>([&](Status status) { failed |= !status.ok(); }));
  };
  BareWalk bare(graph);
  const Pair pair = time_in_turn(kRounds, kNodesPerRound / static_cast<int>(graph.size()), step,
                                 [&] { bare.run(); });
  if (failed) std::exit(1);

  const auto millions_per_second = [&](Samples samples) {
    for (double& value : samples.values) value = static_cast<double>(graph.size()) / value / 1e6;
    return samples;
  };
  report({.name = name,
          .unit = "M nodes/s",
          .samples = millions_per_second(pair.ours),
          .better = Better::more,
          .goal = 20,
          .baseline_name = "bare walk with counters",
          .baseline = millions_per_second(pair.baseline)});
}

}  // namespace
}  // namespace millrace::bench

int main() {
  millrace::OpRegistry ops;
  if (!millrace::register_all_ops(ops).ok()) return 1;
  millrace::bench::measure("executor, chain of 1,000 no-ops, one thread",
                           millrace::bench::chain(ops));
  millrace::bench::measure("executor, fan of 1,000 no-ops, one thread", millrace::bench::fan(ops));
  millrace::bench::measure("executor, random graph of 100,000 no-ops, one thread",
                           millrace::bench::random_graph(ops));
}
