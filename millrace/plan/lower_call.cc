// Part of lower_forms.h: PartitionedCall is the body in the place of the call.
#include "millrace/plan/lower_forms.h"

namespace millrace {
namespace {

// What must be there, and alive, before anything of the body runs; kNoNode if nothing need be.
Result<NodeId> gate_of(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  std::vector<NodeId> before(node.control_inputs.begin(), node.control_inputs.end());
  if (inliner.has_flow()) {
    for (const Endpoint& input : node.inputs) {
      MR_ASSIGN(const Endpoint arrived, inliner.add_identity(caller, "given", input, {}));
      before.push_back(arrived.node);
    }
  }
  if (before.empty()) return kNoNode;
  return inliner.add_no_op(caller, "begin", std::move(before));
}

}  // namespace

Result<Lowered> lower_call(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  MR_ASSIGN(const FunctionRef function, function_attr(node, "f"));
  MR_ASSIGN(const NodeId gate, gate_of(inliner, caller));
  std::vector<Endpoint> inputs(node.inputs.begin(), node.inputs.end());
  if (!node.control_inputs.empty()) {
    for (Endpoint& input : inputs) {
      MR_ASSIGN(input, inliner.add_identity(caller, "input", input, {gate}));
    }
  }
  MR_ASSIGN(Lowered body, inliner.add_body(caller, {.part = "call",
                                                    .function = function,
                                                    .inputs = std::move(inputs),
                                                    .outputs = node.output_types(),
                                                    .after = gate,
                                                    .effects = Inliner::Effects::all}));
  if (body.effects.empty()) {
    // It has run when there is what it returns.
    if (gate != kNoNode) body.effects.push_back(gate);
    for (const Endpoint& output : body.outputs) body.effects.push_back(output.node);
    return body;
  }
  MR_ASSIGN(const NodeId end, inliner.add_no_op(caller, "end", std::move(body.effects)));
  body.effects = {end};
  for (Endpoint& output : body.outputs) {
    MR_ASSIGN(output, inliner.add_identity(caller, "output", output, {end}));
  }
  return body;
}

}  // namespace millrace
