#include "millrace/autodiff/conditionals.h"

#include "millrace/autodiff/sums.h"

namespace millrace {
namespace {

// Zeros like the value that a Switch sends on, or like the variable whose handle it is.
Result<Endpoint> zeros_of(PlacedNodes& nodes, Endpoint value, DType dtype) {
  if (nodes.dtype(value) != DType::resource) return nodes.zeros_like(value);
  MR_ASSIGN(const Endpoint shape, nodes.add("VariableShape", {value}));
  MR_ASSIGN(Tensor each, scalar_of(dtype, 0));
  MR_ASSIGN(const Endpoint zero, nodes.add_constant(std::move(each)));
  return nodes.add("Fill", {shape, zero});
}

}  // namespace

Result<Conditionals> Conditionals::of(const Graph& graph, const Loops& loops) {
  Conditionals made;
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph));
  made.of_node_.assign(graph.size(), kOutside);
  for (const NodeId id : order) made.place(graph, loops, graph[id]);
  return made;
}

// The innermost of the branches that its inputs are in; a Merge of the ends of one conditional is
// where that conditional is.
void Conditionals::place(const Graph& graph, const Loops& loops, const Node& node) {
  BranchId innermost = kOutside;
  const auto consider = [&](BranchId branch) {
    if (branches_[branch].depth > branches_[innermost].depth) innermost = branch;
  };
  for (const Endpoint& input : node.inputs) consider(of_output(graph, input));
  for (const NodeId before : node.control_inputs) consider(of_node_[before]);
  if (node.op->role == Role::merge)
    if (const auto merged = ends(graph, node)) innermost = branches_[merged->front()].parent;
  // All variables of a loop go round together, and leave to where the loop is.
  const bool parts = loops.ends_iteration(graph, node) || node.op->role == Role::exit;
  const NodeId cond = parts ? loops.loop(loops.frames().of(node.id)).cond : kNoNode;
  if (cond != kNoNode) innermost = of_node_[cond];
  of_node_[node.id] = innermost;
  if (node.op->role != Role::switch_) return;
  for (const int side : {0, 1}) inside(graph, innermost, node.inputs[1], side);
}

Conditionals::BranchId Conditionals::inside(const Graph& graph, BranchId parent, Endpoint predicate,
                                            int side) {
  const Endpoint decided_by = behind_identities(graph, predicate);
  const auto next = static_cast<BranchId>(branches_.size());
  const auto [found, is_new] = first_side_.try_emplace({parent, decided_by}, next);
  if (is_new) {
    for (const int each : {0, 1})
      branches_.push_back({parent, branches_[parent].depth + 1, predicate, decided_by, each});
  }
  return found->second + static_cast<BranchId>(side);
}

Conditionals::BranchId Conditionals::of_output(const Graph& graph, Endpoint output) const {
  const Node& node = graph[output.node];
  const BranchId branch = of_node_[output.node];
  if (node.op->role != Role::switch_) return branch;
  const auto found = first_side_.find({branch, behind_identities(graph, node.inputs[1])});
  return found == first_side_.end() ? branch : found->second + static_cast<BranchId>(output.output);
}

std::optional<std::vector<Conditionals::BranchId>> Conditionals::ends(const Graph& graph,
                                                                      const Node& merge) const {
  if (merge.inputs.size() != 2) return std::nullopt;
  std::vector<BranchId> ends;
  for (const Endpoint& input : merge.inputs) ends.push_back(of_output(graph, input));
  const Branch &a = branches_[ends[0]], &b = branches_[ends[1]];
  const bool are_both = ends[0] != kOutside && ends[1] != kOutside && a.parent == b.parent &&
                        a.decided_by == b.decided_by && a.side != b.side;
  return are_both ? std::optional(ends) : std::nullopt;
}

Result<std::vector<Gradient>> Conditionals::gradients(PlacedNodes& nodes, NodeId id,
                                                      const std::vector<Gradient>& arriving) const {
  const Node& node = nodes.graph()[id];
  return node.op->role == Role::merge ? of_merge(nodes, id, arriving[0])
                                      : of_switch(nodes, id, arriving);
}

Result<std::vector<Gradient>> Conditionals::of_merge(PlacedNodes& nodes, NodeId merge,
                                                     const Gradient& arriving) const {
  const auto merged = ends(nodes.graph(), nodes.graph()[merge]);
  if (!merged) {
    return unimplemented("the gradient of '", nodes.graph()[merge].name,
                         "' (op type: Merge) can't be made: its inputs are not the two branches of "
                         "one predicate; use tf.cond");
  }
  std::vector<Gradient> leaving(2);
  if (!arriving.has_value()) return leaving;
  Endpoint value = arriving.dense;
  if (arriving.slices) {
    MR_ASSIGN(value, densified(nodes, *arriving.slices));
  }
  const Endpoint predicate = branches_[merged->front()].predicate;
  MR_ASSIGN(const Endpoint sent, nodes.add("Switch", {value, predicate}));
  for (size_t slot = 0; slot < 2; ++slot)
    leaving[slot].dense = {sent.node, branches_[(*merged)[slot]].side};
  return leaving;
}

Result<std::vector<Gradient>> Conditionals::of_switch(PlacedNodes& nodes, NodeId id,
                                                      const std::vector<Gradient>& arriving) const {
  const Endpoint value = nodes.graph()[id].inputs[0], predicate = nodes.graph()[id].inputs[1];
  std::vector<Gradient> leaving(2);
  std::vector<Endpoint> sides(2);
  for (size_t side = 0; side < 2; ++side) {
    sides[side] = arriving[side].dense;
    if (arriving[side].slices) {
      MR_ASSIGN(sides[side], densified(nodes, *arriving[side].slices));
    }
  }
  for (size_t side = 0; side < 2; ++side) {
    const Endpoint other = sides[1 - side];
    if (sides[side].node != kNoNode || other.node == kNoNode) continue;
    MR_ASSIGN(const Endpoint zeros, zeros_of(nodes, value, nodes.dtype(other)));
    MR_ASSIGN(const Endpoint sent, nodes.add("Switch", {zeros, predicate}));
    sides[side] = {sent.node, static_cast<int32_t>(side)};
  }
  if (sides[0].node == kNoNode) return leaving;
  MR_ASSIGN(leaving[0].dense, nodes.add("Merge", sides, {{"N", 2}}));
  return leaving;
}

}  // namespace millrace
