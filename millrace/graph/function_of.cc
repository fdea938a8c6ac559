#include "millrace/graph/function_of.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace millrace {
namespace {

enum class Controls : uint8_t { kept, left_out };

class Writer {
 public:
  Writer(const Graph& graph, std::string name) : graph_(graph) { def_.name = std::move(name); }

  void add_argument(NodeId id) {
    const Node& node = graph_[id];
    def_.inputs.push_back({.name = std::string(node.name), .dtype = node.output_types()[0].dtype});
    arguments_.emplace(id, true);
  }

  Status add_node(NodeId id, Controls controls) {
    if (arguments_.contains(id)) return {};
    const Node& node = graph_[id];
    wire::NodeDef made{.name = std::string(node.name),
                       .op = node.op->name,
                       .device = std::string(node.requested_device()),
                       .inputs = {},
                       .attrs = {node.attrs().begin(), node.attrs().end()}};
    for (const Endpoint& input : node.inputs) {
      MR_ASSIGN(std::string source, name_of(input));
      made.inputs.push_back(std::move(source));
    }
    for (const NodeId before : node.control_inputs) {
      if (controls == Controls::kept && !arguments_.contains(before))
        made.inputs.push_back(str_cat("^", graph_[before].name));
    }
    def_.is_stateful |= node.op->stateful;
    def_.nodes.push_back(std::move(made));
    return {};
  }

  Status add_return(Endpoint endpoint) {
    const std::string name = str_cat("result_", def_.outputs.size());
    const Node& node = graph_[endpoint.node];
    def_.outputs.push_back(
        {.name = name, .dtype = node.output_types()[static_cast<size_t>(endpoint.output)].dtype});
    MR_ASSIGN(def_.returns[name], name_of(endpoint));
    return {};
  }

  void add_control_return(NodeId id) {
    const std::string name(graph_[id].name);
    def_.control_outputs.push_back(name);
    def_.control_returns[name] = name;
  }

  wire::FunctionDef take() && { return std::move(def_); }

 private:
  // "node:output:index", by the name of the output argument.
  Result<std::string> name_of(Endpoint endpoint) const {
    const Node& node = graph_[endpoint.node];
    if (arguments_.contains(endpoint.node)) return std::string(node.name);
    MR_ASSIGN(const std::vector<int> offsets,
              arg_offsets(*node.op, node.op->outputs, node.attrs()));
    const auto behind = std::ranges::upper_bound(offsets, endpoint.output);
    const auto arg = static_cast<size_t>(behind - offsets.begin()) - 1;
    if (behind == offsets.begin() || arg >= node.op->outputs.size())
      return invalid("'", node.name, "' has no output ", endpoint.output);
    return str_cat(node.name, ":", node.op->outputs[arg].name, ":", endpoint.output - offsets[arg]);
  }

  const Graph& graph_;
  wire::FunctionDef def_;
  absl::flat_hash_map<NodeId, bool> arguments_;
};

// Sources of datasets have no state that a copy would not share: they say that they have some to
// keep others from folding them.
bool may_be_copied(const Node& node) {
  if (!node.op->stateful) return true;
  return node.num_outputs() == 1 && node.output_types()[0].dtype == DType::variant;
}

}  // namespace

Result<wire::FunctionDef> function_of(const Graph& graph, const FunctionOutline& outline) {
  Writer writer(graph, outline.name);
  for (const NodeId id : outline.arguments) writer.add_argument(id);
  for (const Node& node : graph.nodes())
    MR_TRY(writer.add_node(node.id, Controls::kept).with(node.name));
  for (const Endpoint& endpoint : outline.returns) MR_TRY(writer.add_return(endpoint));
  for (const NodeId id : outline.control_returns) writer.add_control_return(id);
  return std::move(writer).take();
}

Result<wire::FunctionDef> function_by_value(const Graph& graph, std::string name,
                                            const std::vector<Endpoint>& returns) {
  std::vector<bool> needed(graph.size(), false);
  std::vector<NodeId> found;
  const auto need = [&](NodeId id) {
    if (needed[id]) return;
    needed[id] = true;
    found.push_back(id);
  };
  for (const Endpoint& endpoint : returns) need(endpoint.node);
  for (size_t next = 0; next < found.size(); ++next) {
    const Node& node = graph[found[next]];
    if (node.op->source == Source::fed)
      return invalid("Cannot capture a placeholder (name:", node.name, ", type:", node.op->name,
                     ") by value.");
    if (!may_be_copied(node))
      return invalid("Cannot capture a stateful node (name:", node.name, ", type:", node.op->name,
                     ") by value.");
    for (const Endpoint& input : node.inputs) need(input.node);
  }
  Writer writer(graph, std::move(name));
  for (const Node& node : graph.nodes())
    if (needed[node.id]) MR_TRY(writer.add_node(node.id, Controls::left_out).with(node.name));
  for (const Endpoint& endpoint : returns) MR_TRY(writer.add_return(endpoint));
  return std::move(writer).take();
}

}  // namespace millrace
