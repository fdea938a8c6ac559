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
  if (node.op->role == Role::switch_) first_branch(graph, innermost, node);
}

Conditionals::BranchId Conditionals::first_branch(const Graph& graph, BranchId parent,
                                                  const Node& node) {
  const Endpoint predicate = node.inputs[1], decided_by = behind_identities(graph, predicate);
  const auto next = static_cast<BranchId>(branches_.size());
  const int sides = node.num_outputs();
  const auto [found, is_new] = first_side_.try_emplace({parent, decided_by, sides}, next);
  if (is_new) {
    const DType dtype = graph[predicate.node].output_types()[predicate.output].dtype;
    for (int side = 0; side < sides; ++side) {
      branches_.push_back({parent, branches_[parent].depth + 1, predicate, decided_by, side, sides,
                           dtype != DType::boolean});
    }
  }
  return found->second;
}

Conditionals::BranchId Conditionals::of_output(const Graph& graph, Endpoint output) const {
  const Node& node = graph[output.node];
  const BranchId branch = of_node_[output.node];
  if (node.op->role != Role::switch_) return branch;
  const Endpoint decided_by = behind_identities(graph, node.inputs[1]);
  const auto found = first_side_.find({branch, decided_by, node.num_outputs()});
  return found == first_side_.end() ? branch : found->second + static_cast<BranchId>(output.output);
}

std::optional<std::vector<Conditionals::BranchId>> Conditionals::ends(const Graph& graph,
                                                                      const Node& merge) const {
  std::vector<BranchId> ends;
  std::vector<bool> is_there(merge.inputs.size(), false);
  for (const Endpoint& input : merge.inputs) {
    ends.push_back(of_output(graph, input));
    const Branch &end = branches_[ends.back()], &first = branches_[ends.front()];
    const bool is_of_one = ends.back() != kOutside && end.parent == first.parent &&
                           end.decided_by == first.decided_by &&
                           end.num_sides == static_cast<int>(is_there.size());
    if (!is_of_one || is_there[static_cast<size_t>(end.side)]) return std::nullopt;
    is_there[static_cast<size_t>(end.side)] = true;
  }
  return ends;
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
  std::vector<Gradient> leaving(merged->size());
  if (!arriving.has_value()) return leaving;
  Endpoint value = arriving.dense;
  if (arriving.slices) {
    MR_ASSIGN(value, densified(nodes, *arriving.slices));
  }
  const Branch first = branches_[merged->front()];
  MR_ASSIGN(const Endpoint sent,
            nodes.add(first.sender(), {value, first.predicate}, first.sender_attrs(), "Switch"));
  for (size_t slot = 0; slot < merged->size(); ++slot)
    leaving[slot].dense = {sent.node, branches_[(*merged)[slot]].side};
  return leaving;
}

Result<std::vector<Gradient>> Conditionals::of_switch(PlacedNodes& nodes, NodeId id,
                                                      const std::vector<Gradient>& arriving) const {
  const Endpoint value = nodes.graph()[id].inputs[0], predicate = nodes.graph()[id].inputs[1];
  const Branch first = branches_[of_output(nodes.graph(), {id, 0})];
  std::vector<Gradient> leaving(2);
  std::vector<Endpoint> sides(arriving.size());
  Endpoint any;
  for (size_t side = 0; side < sides.size(); ++side) {
    sides[side] = arriving[side].dense;
    if (arriving[side].slices) {
      MR_ASSIGN(sides[side], densified(nodes, *arriving[side].slices));
    }
    if (sides[side].node != kNoNode) any = sides[side];
  }
  if (any.node == kNoNode) return leaving;
  // One op sends zeros into all branches that have no use for the value.
  NodeId sent = kNoNode;
  for (size_t side = 0; side < sides.size(); ++side) {
    if (sides[side].node != kNoNode) continue;
    if (sent == kNoNode) {
      MR_ASSIGN(const Endpoint zeros, zeros_of(nodes, value, nodes.dtype(any)));
      MR_ASSIGN(const Endpoint sender,
                nodes.add(first.sender(), {zeros, predicate}, first.sender_attrs(), "Switch"));
      sent = sender.node;
    }
    sides[side] = {sent, static_cast<int32_t>(side)};
  }
  MR_ASSIGN(leaving[0].dense,
            nodes.add("Merge", sides, {{"N", static_cast<int64_t>(sides.size())}}));
  return leaving;
}

}  // namespace millrace
