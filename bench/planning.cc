// Planning from cold: from the bytes of a GraphDef to partitions that are ready to run, for graphs
// of 1,000 to 1,000,000 nodes over two tasks.
//
// Counted: reading the bytes, importing, validating, shapes, placing, cutting the step, folding,
// merging, partitioning, and compiling every partition. The baseline is what protobuf needs to
// parse the same bytes into its messages and do nothing with them.
#include <cmath>
#include <cstdlib>

#include "bench/harness.h"
#include "bench/layered_graph.h"
#include "bench/must.h"

#include "millrace/engine/compiled_graph.h"
#include "millrace/graph/import.h"
#include "millrace/ops/all.h"
#include "millrace/plan/plan.h"
#include "millrace/wire/graph.pb.h"
#include "millrace/wire/graph_def.h"

namespace millrace::bench {
namespace {

StepSignature whole_step(int nodes) {
  StepSignature signature;
  for (int i = 0; i < 100; ++i) signature.feeds.push_back("node_" + std::to_string(i) + ":0");
  for (int i = nodes - 100; i < nodes; ++i)
    signature.fetches.push_back("node_" + std::to_string(i) + ":0");
  return signature;
}

void plan_cold(const std::string& bytes, const OpRegistry& ops, int nodes) {
  const std::string worker = "/job:worker/replica:0/task:";
  const DeviceSet devices = must(DeviceSet::create(
      {{worker + "0/device:CPU:0", 1, Locality::local_to_master}, {worker + "1/device:CPU:0", 2}}));
  Graph graph = must(import_graph(must(wire::parse_graph_def(bytes)), ops));
  GraphTables tables;
  FreshNames names("_S");
  must(prepare_graph(graph, tables, devices, {}));
  const StepPlan plan = must(make_plan(graph, devices, whole_step(nodes), {}, names));
  size_t planned = 0;
  for (const PartitionPlan& part : plan.partitions) {
    const DeviceContext device{.name = part.task.to_string() + "/device:CPU:0", .incarnation = 1};
    KernelCache kernels;
    planned +=
        must(CompiledGraph::compile(part.graph, device, kernels, ClientTransfers::by_slot))->size();
  }
  if (planned < static_cast<size_t>(nodes)) std::exit(1);
}

}  // namespace
}  // namespace millrace::bench

int main() {
  using namespace millrace;         // NOLINT(google-build-using-namespace): a program, not a header
  using namespace millrace::bench;  // NOLINT(google-build-using-namespace)
  OpRegistry ops;
  if (!register_all_ops(ops).ok()) return 1;
  double smallest_per_node = 0;
  for (const int nodes : {1000, 10000, 100000, 1000000}) {
    const std::string bytes = layered_graph(nodes);
    const int rounds = nodes > 100000 ? 3 : 7;
    const Pair pair = time_in_turn(
        rounds, 1, [&] { plan_cold(bytes, ops, nodes); },
        [&] {
          tensorflow::GraphDef message;
          if (!message.ParseFromString(bytes)) std::exit(1);
        });
    Figure figure{.name = "planning " + std::to_string(nodes) + " nodes, cold",
                  .unit = "ms",
                  .samples = scaled(pair.ours, 1e3),
                  .baseline_name = "protobuf parse of the bytes",
                  .baseline = scaled(pair.baseline, 1e3)};
    if (nodes == 100000) figure.goal = 1000;
    report(figure);
    const double per_node = pair.ours.median() / nodes;
    if (smallest_per_node == 0) smallest_per_node = per_node;
    if (nodes == 1000000) {
      // Time ~ nodes^exponent between the smallest and the largest graph.
      const double exponent = 1 + std::log10(per_node / smallest_per_node) / 3;
      report({.name = "planning, growth exponent from 1,000 to 1,000,000 nodes",
              .unit = "",
              .samples = {{exponent}},
              .goal = 1.1});
    }
  }
}
