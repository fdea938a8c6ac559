#include "millrace/master/cost_graph.h"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace millrace {
namespace {

// By device and name; both live as long as the traces.
using Timings = absl::flat_hash_map<std::pair<std::string_view, std::string_view>,
                                    std::vector<const NodeTiming*>>;
using Numbers = absl::flat_hash_map<std::string_view, int32_t>;

void add_outputs(const NodeTiming& timing, CostNode& node) {
  for (const OutputTrace& output : timing.outputs) {
    const auto slot = static_cast<size_t>(output.slot);
    // No op has so many: whoever tells of one is not to be believed.
    constexpr size_t kMostOutputs = 100'000;
    if (slot >= kMostOutputs) continue;
    if (node.outputs.size() <= slot) node.outputs.resize(slot + 1);
    node.outputs[slot] = output;
    node.outputs[slot].slot = static_cast<int>(slot);
  }
}

// "a", "a:1" or "^a".
void add_input(std::string_view input, const Numbers& numbers, CostNode& node) {
  const bool is_control = input.starts_with('^');
  if (is_control) input.remove_prefix(1);
  int32_t output = 0;
  const size_t colon = input.rfind(':');
  if (colon != std::string_view::npos) {
    std::from_chars(input.data() + colon + 1, input.data() + input.size(), output);
    input = input.substr(0, colon);
  }
  const auto source = numbers.find(input);
  if (source == numbers.end()) return;
  if (is_control) {
    node.control_inputs.push_back(source->second);
  } else {
    node.inputs.emplace_back(source->second, output);
  }
}

void add_graph(const wire::GraphDef& graph, const Timings& timings, std::vector<CostNode>& made) {
  Numbers numbers;
  for (const wire::NodeDef& node : graph.nodes)
    numbers.emplace(node.name, static_cast<int32_t>(made.size() + numbers.size()));
  for (const wire::NodeDef& node : graph.nodes) {
    CostNode& cost = made.emplace_back();
    cost.name = node.name;
    cost.device = node.device;
    for (const std::string& input : node.inputs) add_input(input, numbers, cost);
    const auto found = timings.find({node.device, node.name});
    if (found == timings.end()) continue;
    for (const NodeTiming* timing : found->second) {
      cost.micros += timing->end_micros - timing->start_micros;
      add_outputs(*timing, cost);
    }
  }
}

}  // namespace

std::vector<CostNode> cost_graph_of(const std::vector<DeviceTrace>& traces,
                                    const std::vector<wire::GraphDef>& graphs) {
  Timings timings;
  for (const DeviceTrace& trace : traces)
    for (const NodeTiming& timing : trace.nodes)
      timings[{trace.device, timing.node_name}].push_back(&timing);
  std::vector<CostNode> made;
  for (const wire::GraphDef& graph : graphs) add_graph(graph, timings, made);
  return made;
}

}  // namespace millrace
