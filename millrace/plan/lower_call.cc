// Part of lower_forms.h: PartitionedCall is the body in the place of the call; RemoteCall as well,
// on the device that it names, if the graph says which.
#include <algorithm>

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

// By what TensorFlow would have run the body. It needs none of its own where it stands.
Status check_executor(const Node& node) {
  const AttrValue* value = node.attr_view().find("executor_type");
  const std::string* type = value ? value->as_string() : nullptr;
  if (type == nullptr || type->empty()) return {};
  if (*type == "DEFAULT" || *type == "SINGLE_THREADED_EXECUTOR") return {};
  return not_found("No executor factory registered for the given executor type: ", *type,
                   "; there are DEFAULT and SINGLE_THREADED_EXECUTOR");
}

}  // namespace

Result<Lowered> lower_call(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  MR_TRY(check_executor(node));
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

// The value of the first input if the graph says it, else null.
const Tensor* constant_target(const Graph& graph, const Node& node) {
  Endpoint source = node.inputs[0];
  // No further than all nodes: a graph that has just arrived may go round in a circle.
  for (size_t i = 0; i < graph.size() && graph[source.node].op->passes_on; ++i)
    source = graph[source.node].inputs[0];
  return constant_value(graph[source.node]);
}

// The kernel is one node: what it does is done when it has run.
Result<Lowered> call_by_kernel(Inliner& inliner, const Caller& caller) {
  const Node& node = caller.node;
  MR_ASSIGN(FunctionRef function, function_attr(node, "f"));
  MR_ASSIGN(std::vector<DType> outputs, node.attr_view().types("Tout"));
  const size_t num_outputs = outputs.size();
  Attrs attrs;
  attrs.set("f", std::move(function));
  attrs.set("Tout", std::move(outputs));
  MR_ASSIGN(const NodeId call,
            inliner.add({.name = inliner.name_for(caller, "remote_call"),
                         .op = "_RemoteCall",
                         .inputs = {node.inputs.begin(), node.inputs.end()},
                         .control_inputs = {node.control_inputs.begin(), node.control_inputs.end()},
                         .attrs = std::move(attrs),
                         .device = node.requested_device()}));
  Lowered lowered{.outputs = {}, .effects = {call}};
  for (size_t i = 0; i < num_outputs; ++i)
    lowered.outputs.push_back({call, static_cast<int32_t>(i)});
  return lowered;
}

// A resource is where it is, and what a step is cut into has one place for each.
Status check_movable(const Node& node) {
  const auto is_resource = [](const ArgType& type) { return type.dtype == DType::resource; };
  if (std::ranges::none_of(node.input_types(), is_resource) &&
      std::ranges::none_of(node.output_types(), is_resource))
    return {};
  return unimplemented(
      "target is computed, and the function takes or returns a resource, which stands on one "
      "device: give the device's name as a constant, or pass what finds the resource by name");
}

// The bodies are placed before any step has run: on every device that it may be.
Result<Lowered> call_on_any(Inliner& inliner, const Caller& caller) {
  const Node& source = inliner.graph()[caller.node.inputs[0].node];
  const LowerOptions& options = inliner.options();
  if (options.devices == nullptr) {
    return unimplemented("target is computed by '", source.name, "' (", source.op->name,
                         "); give the device's name as a constant, as functions are placed when "
                         "the graph arrives");
  }
  std::vector<std::string> devices;
  for (const Device& device : options.devices->devices())
    if (device.name.type == "CPU") devices.push_back(device.full_name);
  if (devices.empty())
    return unimplemented("target is computed, and the session has no CPU among which to choose");
  if (devices.size() > options.max_targets) {
    return unimplemented("target is computed by '", source.name, "' (", source.op->name,
                         "), and the session has ", devices.size(), " CPUs; a step chooses among ",
                         options.max_targets, " at most: give the device's name as a constant");
  }
  if (devices.size() > 1) MR_TRY(check_movable(caller.node));
  return lower_choice(inliner, caller, std::move(devices));
}

}  // namespace

Result<Lowered> lower_remote_call(Inliner& inliner, const Caller& caller) {
  using ByKernel = LowerOptions::ByKernel;
  const ByKernel by_kernel = inliner.options().remote_calls;
  if (by_kernel == ByKernel::all) return call_by_kernel(inliner, caller);
  const Tensor* target = constant_target(inliner.graph(), caller.node);
  if (target == nullptr) {
    return by_kernel == ByKernel::computed ? call_by_kernel(inliner, caller)
                                           : call_on_any(inliner, caller);
  }
  if (target->num_elements() != 1)
    return invalid("target must be one device's name, and has the shape ",
                   target->shape().to_string());
  const std::string name = target->flat<std::string>()[0];
  MR_ASSIGN(const DeviceName inner, DeviceName::parse(name).with("target"));
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
