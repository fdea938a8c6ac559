#include "millrace/graph/frames.h"

#include <algorithm>
#include <optional>

namespace millrace {
namespace {

Status mixed(const Graph& graph, const Node& node, const FrameTable& table, NodeId a, NodeId b) {
  const auto name_of = [&](NodeId input) -> const std::string& {
    return table.frames()[table.of_outputs(graph[input])].name;
  };
  return invalid("{{node ", node.name, "}} has inputs from different frames. The input {{node ",
                 graph[a].name, "}} is in frame '", name_of(a), "'. The input {{node ",
                 graph[b].name, "}} is in frame '", name_of(b), "'.");
}

}  // namespace

Result<FrameTable> FrameTable::create(const Graph& graph) {
  FrameTable table;
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph));
  const auto is_enter = [](const Node& node) { return node.op->role == Role::enter; };
  const auto is_exit = [](const Node& node) { return node.op->role == Role::exit; };
  if (std::ranges::none_of(graph.nodes(), is_enter) &&
      std::ranges::none_of(graph.nodes(), is_exit)) {
    return table;
  }
  table.of_node_.assign(graph.size(), kRoot);
  for (NodeId id : order) MR_TRY(table.assign(graph, graph[id]));
  // Back edges could not be looked at before both of their ends were known.
  for (const Node& node : graph.nodes()) {
    if (node.op->role != Role::merge) continue;
    for (const Endpoint& input : node.inputs) {
      if (input.node == kNoNode || table.of(input.node) == table.of(node.id)) continue;
      if (is_back_edge(graph[input.node], node)) {
        return mixed(graph, node, table, node.inputs[0].node, input.node);
      }
    }
  }
  return table;
}

Status FrameTable::assign(const Graph& graph, const Node& node) {
  NodeId first = kNoNode;
  const auto check = [&](NodeId input) -> Status {
    if (first == kNoNode) first = input;
    if (of_outputs(graph[input]) == of_outputs(graph[first])) return {};
    return mixed(graph, node, *this, first, input);
  };
  for (const Endpoint& input : node.inputs) {
    if (input.node != kNoNode && !is_back_edge(graph[input.node], node)) MR_TRY(check(input.node));
  }
  for (NodeId before : node.control_inputs) MR_TRY(check(before));
  const uint32_t frame = first == kNoNode ? kRoot : of_outputs(graph[first]);
  if (node.op->role == Role::enter) {
    MR_ASSIGN(of_node_[node.id], enter(node, frame));
    return {};
  }
  if (node.op->role == Role::exit && frame == kRoot) {
    return invalid("{{node ", node.name, "}} is an ", node.op->name, " outside of every loop");
  }
  of_node_[node.id] = frame;
  return {};
}

Result<uint32_t> FrameTable::enter(const Node& node, uint32_t parent) {
  MR_ASSIGN(const std::string name, node.attr_view().string("frame_name"));
  if (name.empty()) return invalid("The Enter {{node ", node.name, "}} must have a frame name.");
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    by_name_.emplace(name, static_cast<uint32_t>(frames_.size()));
    frames_.push_back({name, parent});
    return static_cast<uint32_t>(frames_.size() - 1);
  }
  if (frames_[found->second].parent == parent) return found->second;
  return invalid("{{node ", node.name, "}} enters frame '", name, "' from frame '",
                 frames_[parent].name, "', other nodes enter it from frame '",
                 frames_[frames_[found->second].parent].name, "'");
}

}  // namespace millrace
