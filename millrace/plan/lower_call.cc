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

// What the body is given: nothing before the call's control inputs are done.
Result<std::vector<Endpoint>> inputs_of(Inliner& inliner, const Caller& caller, NodeId gate) {
  std::vector<Endpoint> inputs(caller.node.inputs.begin(), caller.node.inputs.end());
  if (caller.node.control_inputs.empty()) return inputs;
  for (Endpoint& input : inputs) {
    MR_ASSIGN(input, inliner.add_identity(caller, "input", input, {gate}));
  }
  return inputs;
}

// The call has run once all its effects have, and gives nothing before.
Result<Lowered> finished(Inliner& inliner, const Caller& caller, NodeId gate, Lowered body) {
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

}  // namespace

Result<Lowered> lower_call(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  MR_ASSIGN(const FunctionRef function, function_attr(node, "f"));
  MR_ASSIGN(const NodeId gate, gate_of(inliner, caller));
  MR_ASSIGN(std::vector<Endpoint> inputs, inputs_of(inliner, caller, gate));
  MR_ASSIGN(Lowered body, inliner.add_body(caller, {.part = "call",
                                                    .function = function,
                                                    .inputs = std::move(inputs),
                                                    .outputs = node.output_types(),
                                                    .after = gate,
                                                    .effects = Inliner::Effects::all}));
  return finished(inliner, caller, gate, std::move(body));
}

// Of what the function does besides, nothing is done: its call does that.
Result<Lowered> lower_gradient(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  MR_ASSIGN(const FunctionRef function, function_attr(node, "f"));
  MR_ASSIGN(const NodeId gate, gate_of(inliner, caller));
  MR_ASSIGN(std::vector<Endpoint> inputs, inputs_of(inliner, caller, gate));
  MR_ASSIGN(Lowered body, inliner.add_body(caller, {.part = "gradient",
                                                    .function = function,
                                                    .inputs = std::move(inputs),
                                                    .outputs = node.output_types(),
                                                    .after = gate,
                                                    .derivative = Inliner::Derivative::first}));
  return finished(inliner, caller, gate, std::move(body));
}

}  // namespace millrace
