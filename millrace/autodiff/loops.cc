#include "millrace/autodiff/loops.h"

namespace millrace {

Endpoint behind_identities(const Graph& graph, Endpoint value) {
  while (graph[value.node].op->passes_on) value = graph[value.node].inputs[0];
  return value;
}

Result<Loops> Loops::of(const Graph& graph) {
  Loops made;
  MR_ASSIGN(made.frames_, FrameTable::create(graph));
  made.loops_.resize(made.frames_.frames().size());
  for (const Node& node : graph.nodes()) made.note(graph, node);
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
  if (node.op->role == Role::next_iteration) loop.nexts.push_back(node.id);
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
