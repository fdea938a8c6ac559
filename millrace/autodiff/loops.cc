#include "millrace/autodiff/loops.h"

namespace millrace {

Endpoint behind_identities(const Graph& graph, Endpoint value) {
  while (graph[value.node].op->passes_on) value = graph[value.node].inputs[0];
  return value;
}

namespace {

// The node that makes what a handle stands for.
NodeId maker_of(const Graph& graph, Endpoint handle) {
  const auto hands_on = [&](NodeId node) {
    const OpDef& op = *graph[node].op;
    return op.passes_on || op.role == Role::enter || op.role == Role::switch_;
  };
  while (hands_on(handle.node)) handle = graph[handle.node].inputs[0];
  return handle.node;
}

}  // namespace

Result<Loops> Loops::of(const Graph& graph) {
  Loops made;
  MR_ASSIGN(made.frames_, FrameTable::create(graph));
  made.loops_.resize(made.frames_.frames().size());
  for (const Node& node : graph.nodes()) made.note(graph, node);
  made.note_stacks(graph);
  // The Switches last: which they part is known by then.
  for (const Node& node : graph.nodes()) {
    if (!made.ends_iteration(graph, node)) continue;
    const auto headed = made.by_merge_.find(behind_identities(graph, node.inputs[0]).node);
    if (headed == made.by_merge_.end()) continue;
    made.loops_[headed->second.first].variables[headed->second.second].switch_ = node.id;
  }
  return made;
}

void Loops::note(const Graph& graph, const Node& node) {
  const uint32_t frame = frames_.of(node.id);
  if (frame == FrameTable::kRoot) return;
  Loop& loop = loops_[frame];
  if (node.op->role == Role::loop_cond) loop.cond = node.id;
  if (node.op->role == Role::next_iteration) loop.ends.push_back(node.id);
  if (node.op->role != Role::merge || node.inputs.size() != 2) return;
  for (const int slot : {0, 1}) {
    const Node& next = graph[node.inputs[static_cast<size_t>(1 - slot)].node];
    const Node& enter = graph[node.inputs[static_cast<size_t>(slot)].node];
    if (enter.op->role != Role::enter || !is_back_edge(next, node)) continue;
    by_merge_[node.id] = {frame, loop.variables.size()};
    loop.variables.push_back(
        {.enter = enter.id, .merge = node.id, .next = next.id, .enter_slot = slot});
  }
}

void Loops::note_stacks(const Graph& graph) {
  absl::flat_hash_map<NodeId, std::vector<NodeId>> by_stack;
  for (const Node& node : graph.nodes())
    if (node.op->name == "StackPushV2")
      by_stack[maker_of(graph, node.inputs[0])].push_back(node.id);
  if (by_stack.empty()) return;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "StackPopV2") continue;
    pushes_[node.id] = by_stack[maker_of(graph, node.inputs[0])];
    for (const NodeId push : pushes_[node.id]) pops_[push].push_back(node.id);
  }
  for (const Node& node : graph.nodes()) {
    if (!pops_.contains(node.id)) continue;
    uint32_t frame = frames_.of(node.id);
    for (; frame != FrameTable::kRoot; frame = frames_.frames()[frame].parent)
      loops_[frame].ends.push_back(node.id);
  }
}

std::span<const NodeId> Loops::pushes_of(NodeId pop) const {
  const auto found = pushes_.find(pop);
  return found == pushes_.end() ? std::span<const NodeId>() : found->second;
}

std::span<const NodeId> Loops::pops_of(NodeId push) const {
  const auto found = pops_.find(push);
  return found == pops_.end() ? std::span<const NodeId>() : found->second;
}

std::vector<NodeId> Loops::ends_behind(const Node& node) const {
  if (node.op->role == Role::exit) return loops_[frames_.of(node.id)].ends;
  std::vector<NodeId> ends;
  for (const NodeId push : pushes_of(node.id)) {
    uint32_t frame = frames_.of(push);
    for (; !is_inside(frames_.of(node.id), frame); frame = frames_.frames()[frame].parent)
      ends.insert(ends.end(), loops_[frame].ends.begin(), loops_[frame].ends.end());
    ends.push_back(push);
  }
  return ends;
}

const LoopVariable* Loops::headed_by(NodeId merge) const {
  const auto found = by_merge_.find(merge);
  if (found == by_merge_.end()) return nullptr;
  return &loops_[found->second.first].variables[found->second.second];
}

bool Loops::ends_iteration(const Graph& graph, const Node& node) const {
  if (node.op->role != Role::switch_ || frames_.of(node.id) == FrameTable::kRoot) return false;
  return behind_identities(graph, node.inputs[1]).node == loops_[frames_.of(node.id)].cond;
}

bool Loops::is_inside(uint32_t frame, uint32_t outer) const {
  while (frame != outer && frame != FrameTable::kRoot) frame = frames_.frames()[frame].parent;
  return frame == outer;
}

}  // namespace millrace
