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
  MR_TRY(table.extend(graph));
  return table;
}

Status FrameTable::extend(const Graph& graph) {
  const size_t first = size_;
  Status status = assign_from(graph, static_cast<NodeId>(first));
  size_ = graph.size();
  if (!status.ok()) truncate(first);
  return status;
}

Status FrameTable::assign_from(const Graph& graph, NodeId first) {
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph, first));
  const auto nodes = graph.nodes().subspan(first);
  const auto is_enter = [](const Node& node) { return node.op->role == Role::enter; };
  const auto is_exit = [](const Node& node) { return node.op->role == Role::exit; };
  if (!has_loops() && std::ranges::none_of(nodes, is_enter) && std::ranges::none_of(nodes, is_exit))
    return {};
  of_node_.resize(graph.size(), kRoot);
  for (NodeId id : order) MR_TRY(assign(graph, graph[id]));
  // Back edges could not be looked at before both of their ends were known.
  for (const Node& node : nodes) {
    if (node.op->role != Role::merge) continue;
    for (const Endpoint& input : node.inputs) {
      if (input.node == kNoNode || of(input.node) == of(node.id)) continue;
      if (is_back_edge(graph[input.node], node)) {
        return mixed(graph, node, *this, node.inputs[0].node, input.node);
      }
    }
  }
  return {};
}

void FrameTable::truncate(size_t size) {
  if (size >= size_) return;
  size_ = size;
  while (has_loops() && frames_.back().enter >= size) {
    by_name_.erase(frames_.back().name);
    frames_.pop_back();
  }
  of_node_.resize(has_loops() ? size : 0);
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
    frames_.push_back({name, parent, node.id});
    return static_cast<uint32_t>(frames_.size() - 1);
  }
  if (frames_[found->second].parent == parent) return found->second;
  return invalid("{{node ", node.name, "}} enters frame '", name, "' from frame '",
                 frames_[parent].name, "', other nodes enter it from frame '",
                 frames_[frames_[found->second].parent].name, "'");
}

}  // namespace millrace
