// Part of lower_forms.h: PartitionedCall is the body in the place of the call; RemoteCall as well,
// on the device that it names.
#include "millrace/op/device_name.h"
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

namespace {

// The name that the node is given, where a graph says it: the bodies are placed before any step has
// run.
Result<std::string> target_of(const Graph& graph, Endpoint source) {
  // No further than all nodes: a graph that has just arrived may go round in a circle.
  for (size_t i = 0; i < graph.size() && graph[source.node].op->passes_on; ++i)
    source = graph[source.node].inputs[0];
  const Tensor* name = constant_value(graph[source.node]);
  if (name == nullptr) {
    return unimplemented(
        "target is computed by '", graph[source.node].name, "' (", graph[source.node].op->name,
        "); give the device's name as a constant, as functions are placed when the "
        "graph arrives");
  }
  if (name->num_elements() != 1)
    return invalid("target must be one device's name, and has the shape ",
                   name->shape().to_string());
  return std::string(name->flat<std::string>()[0]);
}

}  // namespace

Result<Lowered> lower_remote_call(Inliner& inliner, const Caller& caller) {
  MR_ASSIGN(const std::string target, target_of(inliner.graph(), caller.node.inputs[0]));
  MR_ASSIGN(const DeviceName inner, DeviceName::parse(target).with("target"));
  MR_ASSIGN(const DeviceName outer, DeviceName::parse(caller.node.requested_device()));
  inliner.graph().set_requested_device(caller.node.id, outer.overridden_by(inner).to_string());
  Caller there{inliner.graph()[caller.node.id], caller.origin};
  there.node.inputs.erase(there.node.inputs.begin());
  return lower_call(inliner, there);
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
