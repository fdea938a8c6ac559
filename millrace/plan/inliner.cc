#include "millrace/plan/inliner.h"

#include <algorithm>
#include <set>

#include "millrace/graph/frames.h"
#include "millrace/graph/typing.h"
#include "millrace/op/device_name.h"
#include "millrace/wire/function_gradient.h"

namespace millrace {
namespace {

std::vector<ArgType> types_of(const Graph& graph, std::span<const Endpoint> endpoints) {
  std::vector<ArgType> types;
  for (const Endpoint& endpoint : endpoints) {
    types.push_back(
        {graph[endpoint.node].output_types()[static_cast<size_t>(endpoint.output)].dtype});
  }
  return types;
}

bool same_dtypes(std::span<const ArgType> a, std::span<const ArgType> b) {
  return std::ranges::equal(a, b, {}, &ArgType::dtype, &ArgType::dtype);
}

const FunctionRef* declared_gradient(const wire::FunctionDef& function) {
  for (const auto& [name, value] : function.attrs)
    if (name == wire::kGradientAttr) return value.as_func();
  return nullptr;
}

// What a node of a body calls and does not differentiate.
std::vector<std::string> called_by(const wire::NodeDef& node, const OpRegistry& ops) {
  const OpDef* op = ops.find(node.op);
  if (op == nullptr) return {node.op};
  if (!calls_functions(op->role) || op->role == Role::function_gradient) return {};
  std::vector<std::string> called;
  for (const auto& [name, value] : node.attrs) {
    if (const FunctionRef* one = value.as_func()) called.push_back(one->name);
    if (const auto* several = value.as_list_of<FunctionRef>())
      for (const FunctionRef& function : *several) called.push_back(function.name);
  }
  return called;
}

// A function among those that `outer` calls, and that these call, whose gradient is declared: once
// it is inlined, nothing tells that what it computes has another gradient.
const wire::FunctionDef* declared_inside(const FunctionLibrary& library, const OpRegistry& ops,
                                         const std::string& outer) {
  std::set<std::string> seen{outer};
  std::vector<std::string> pending{outer};
  while (!pending.empty()) {
    const wire::FunctionDef* function = find_function(&library, pending.back());
    pending.pop_back();
    if (function == nullptr) continue;
    if (function->name != outer && declared_gradient(*function) != nullptr) return function;
    for (const wire::NodeDef& node : function->nodes)
      for (std::string& called : called_by(node, ops))
        if (seen.insert(called).second) pending.push_back(std::move(called));
  }
  return nullptr;
}

// What of a body has state. What is inside of a loop can't be waited for; its loop's exits can.
Result<std::vector<NodeId>> nodes_with_state(const FunctionBody& body) {
  MR_ASSIGN(const FrameTable frames, FrameTable::create(body.graph));
  std::vector<NodeId> found;
  std::vector<bool> is_loop_with_state(frames.frames().size());
  for (const Node& node : body.graph.nodes().subspan(body.num_args)) {
    if (!node.op->stateful) continue;
    uint32_t frame = frames.of_outputs(node);
    if (frame == FrameTable::kRoot) found.push_back(node.id);
    while (frames.frames()[frame].parent != FrameTable::kRoot)
      frame = frames.frames()[frame].parent;
    is_loop_with_state[frame] = frame != FrameTable::kRoot;
  }
  for (const Node& node : body.graph.nodes()) {
    if (node.op->role == Role::exit && is_loop_with_state[frames.of(node.id)])
      found.push_back(node.id);
  }
  return found;
}

// The device that a node of a body asks for, completed by that of the call.
std::string device_within(std::string_view call, std::string_view node) {
  if (node.empty() || call.empty()) return std::string(node.empty() ? call : node);
  const auto outer = DeviceName::parse(call), inner = DeviceName::parse(node);
  // Placement says what is wrong with a device.
  if (!outer.ok() || !inner.ok()) return std::string(node);
  return outer->overridden_by(*inner).to_string();
}

// One copy of a body: from its nodes to those of the graph.
class BodyCopy {
 public:
  BodyCopy(Graph& graph, const FunctionBody& body, const std::vector<Endpoint>& inputs,
           std::string prefix, std::string_view device)
      : graph_(graph),
        body_(body),
        inputs_(inputs),
        prefix_(std::move(prefix)),
        device_(device),
        first_(graph.size()) {}

  NodeId id(NodeId in_body) const { return static_cast<NodeId>(first_ + in_body - body_.num_args); }
  Endpoint endpoint(Endpoint in_body) const {
    if (in_body.node < body_.num_args) return inputs_[in_body.node];
    return {id(in_body.node), in_body.output};
  }
  size_t name_bytes(const Node& node) const { return prefix_.size() + node.name.size(); }

  Status add(const Node& in_body) {
    // Devices of one graph are interned: equal ones have one address.
    if (in_body.requested_device().data() != last_device_ || merged_device_.empty()) {
      merged_device_ = device_within(device_, in_body.requested_device());
      last_device_ = in_body.requested_device().data();
    }
    const std::string name = str_cat(prefix_, in_body.name);
    MR_ASSIGN(const NodeId copy, graph_.add_copy(in_body, name, merged_device_));
    if (in_body.op->role == Role::enter) MR_TRY(rename_frame(copy));
    return rename_classes(copy);
  }

 private:
  Status rename_frame(NodeId node) {
    MR_ASSIGN(const std::string frame, graph_[node].attr_view().string("frame_name"));
    return graph_.set_attr(node, "frame_name", str_cat(prefix_, frame));
  }

  // "loc:@x" means the copy of x, or what is given for the argument x.
  Status rename_classes(NodeId node) {
    constexpr std::string_view kPrefix = "loc:@";
    const AttrValue* value = graph_[node].attrs().find("_class");
    const auto* classes = value ? value->as_list_of<std::string>() : nullptr;
    if (classes == nullptr) return {};
    std::vector<std::string> renamed = *classes;
    for (std::string& name : renamed) {
      if (!name.starts_with(kPrefix)) continue;
      const Node* named = body_.graph.find(std::string_view(name).substr(kPrefix.size()));
      if (named == nullptr) continue;
      name = named->id < body_.num_args ? str_cat(kPrefix, graph_[inputs_[named->id].node].name)
                                        : str_cat(kPrefix, prefix_, named->name);
    }
    return graph_.set_attr(node, "_class", std::move(renamed));
  }

  Graph& graph_;
  const FunctionBody& body_;
  const std::vector<Endpoint>& inputs_;
  const std::string prefix_;
  const std::string device_;
  const size_t first_;  // the id of the first copy
  const char* last_device_ = nullptr;
  std::string merged_device_;
};

}  // namespace

NodeId find_flow(const Graph& graph, NodeId first) {
  for (const Node& node : graph.nodes().subspan(first)) {
    if (node.op->role == Role::switch_ || node.op->role == Role::enter) return node.id;
  }
  return kNoNode;
}

Inliner::Inliner(Graph& graph, bool has_flow, const LowerOptions& options)
    : graph_(graph), options_(options), has_flow_(has_flow), origins_(1) {}

std::string Inliner::name_for(const Caller& caller, std::string_view part) const {
  const std::string name = str_cat(caller.node.name, "/", part, "/_", graph_.size());
  return graph_.unique_name(name);
}

Result<NodeId> Inliner::add(Graph::NewNode node) {
  MR_ASSIGN(const NodeId id, graph_.add_with_back_edges(std::move(node)));
  MR_TRY(charge(graph_[id], graph_[id].name.size()));
  return id;
}

Result<Endpoint> Inliner::add_identity(const Caller& caller, std::string_view part, Endpoint source,
                                       std::vector<NodeId> before) {
  MR_ASSIGN(const NodeId id, add({.name = name_for(caller, part),
                                  .op = "Identity",
                                  .inputs = {source},
                                  .control_inputs = std::move(before),
                                  .device = graph_[source.node].requested_device()}));
  return Endpoint{id, 0};
}

Result<NodeId> Inliner::add_no_op(const Caller& caller, std::string_view part,
                                  std::vector<NodeId> before) {
  return add({.name = name_for(caller, part),
              .op = "NoOp",
              .control_inputs = std::move(before),
              .device = caller.node.requested_device()});
}

size_t Inliner::origin_of(NodeId node) const {
  const auto found = origin_of_.find(node);
  return found == origin_of_.end() ? 0 : found->second;
}

Status Inliner::charge(const Node& node, size_t name_bytes) {
  constexpr size_t kPerAttr = 64;
  bytes_ += sizeof(Node) + name_bytes + node.inputs.size() * sizeof(Endpoint) +
            node.control_inputs.size() * sizeof(NodeId) + node.attrs().size() * kPerAttr +
            (node.input_types().size() + node.output_types().size()) * sizeof(ArgType);
  if (bytes_ <= options_.max_bytes) return {};
  return error(Code::resource_exhausted, "with function bodies in the place of their calls the ",
               "graph would be larger than the ", options_.max_bytes,
               " bytes that are allowed for it; it has ", graph_.size(), " nodes by now");
}

Result<Inliner::Body> Inliner::body_of(const FunctionRef& function) {
  const bool is_kept = function.attrs.empty();
  if (is_kept) {
    const auto found = bodies_.find(function.name);
    if (found != bodies_.end()) return found->second;
  }
  const FunctionLibrary& library = graph_.functions() ? *graph_.functions() : no_functions_;
  MR_ASSIGN(FunctionBody made, instantiate(library, function, graph_.ops()));
  const Body body = std::make_shared<const FunctionBody>(std::move(made));
  has_flow_ = has_flow_ || find_flow(body->graph, 0) != kNoNode;
  if (is_kept) bodies_.emplace(function.name, body);
  return body;
}

// The gradient that the library declares for a function; none if it leaves it to us.
Result<Inliner::Body> Inliner::declared_gradient_of(const Call& call) {
  const wire::FunctionDef* function = find_function(graph_.functions().get(), call.function.name);
  if (function == nullptr) return Body();
  const FunctionRef* gradient = declared_gradient(*function);
  if (gradient == nullptr) return Body();
  MR_ASSIGN(Body body, body_of({gradient->name, call.function.attrs}));
  if (body->returns.size() == call.outputs->size()) return body;
  return invalid("function '", gradient->name, "' is the gradient of '", call.function.name,
                 "': SymGrad expects to return ", call.outputs->size(),
                 " gradients, one for each argument, but get ", body->returns.size(), " instead");
}

// Of a function without a gradient of its own: the body without calls in it, differentiated.
Result<Inliner::Body> Inliner::gradient_of(const Call& call) {
  const FunctionRef& function = call.function;
  MR_ASSIGN(const Body declared, declared_gradient_of(call));
  if (declared) return declared;
  if (!options_.differentiate) {
    return unimplemented(
        "gradients of functions are not computed here; let the client make the gradient's nodes "
        "when it builds the graph, as tf.gradients does");
  }
  if (options_.max_order == 0) {
    return error(Code::resource_exhausted, "function '", function.name,
                 "': gradients of functions ask for gradients of functions too deep");
  }
  MR_ASSIGN(const Body plain, body_of(function));
  if (const auto& library = graph_.functions()) {
    const wire::FunctionDef* inner = declared_inside(*library, graph_.ops(), function.name);
    if (inner != nullptr) {
      return unimplemented(
          "function '", function.name, "' calls '", inner->name,
          "', which has a gradient of its own, and is differentiated as a whole here; "
          "declare a gradient of '",
          function.name, "' too, or call '", inner->name, "' outside of it");
    }
  }
  FunctionBody body = *plain;
  body.graph.set_functions(graph_.functions());
  LowerOptions inner = options_;
  inner.max_order -= 1;
  inner.max_bytes -= std::min(bytes_, inner.max_bytes);
  StandIns stand_ins;
  MR_TRY(lower_functions(body.graph, stand_ins, inner)
             .with(str_cat("function '", function.name, "'")));
  MR_ASSIGN(FunctionBody made,
            options_.differentiate(body).with(str_cat("function '", function.name, "'")));
  has_flow_ = has_flow_ || find_flow(made.graph, 0) != kNoNode;
  return std::make_shared<const FunctionBody>(std::move(made));
}

// The origin of what is copied from `function`, called by the caller.
Result<size_t> Inliner::enter(const Caller& caller, const FunctionRef& function) {
  std::string chain = function.name;
  for (size_t at = caller.origin; at != 0; at = origins_[at].parent) {
    chain = str_cat(origins_[at].function, " -> ", chain);
    if (origins_[at].function != function.name) continue;
    return unimplemented("function '", function.name, "' calls itself (", chain,
                         "); recursive functions are not supported");
  }
  const size_t depth = origins_[caller.origin].depth + 1;
  if (depth > options_.max_depth) {
    return error(Code::resource_exhausted, "functions call functions more than ",
                 options_.max_depth, " deep: ", chain.substr(0, 200), " …");
  }
  origins_.push_back({function.name, caller.origin, depth});
  return origins_.size() - 1;
}

Status Inliner::check(const Call& call, const FunctionBody& body) const {
  std::vector<ArgType> wanted;
  for (size_t i = 0; i < body.num_args; ++i) {
    wanted.push_back(body.graph[static_cast<NodeId>(i)].output_types()[0]);
  }
  const std::vector<ArgType> given = types_of(graph_, call.inputs);
  if (!same_dtypes(given, wanted)) {
    return invalid("function '", call.function.name, "' takes ", type_list_name(wanted),
                   ", but is given ", type_list_name(given));
  }
  const std::vector<ArgType> returned = types_of(body.graph, body.returns);
  if (!call.outputs || same_dtypes(returned, *call.outputs)) return {};
  const std::string fault =
      str_cat("function '", call.function.name, "' returns ", type_list_name(returned), ", but ",
              type_list_name(*call.outputs), " is expected");
  if (call.known_as.empty() || returned.size() == call.outputs->size()) return invalid(fault);
  return invalid(fault, ": ", call.known_as, " returned ", returned.size(),
                 " arguments. Expected: ", call.outputs->size());
}

Result<Lowered> Inliner::add_body(const Caller& caller, const Call& call) {
  MR_ASSIGN(const size_t origin, enter(caller, call.function));
  MR_ASSIGN(const Body body,
            call.derivative == Derivative::first ? gradient_of(call) : body_of(call.function));
  MR_TRY(check(call, *body));
  // A control edge that comes from an argument must be dead if the argument is.
  absl::flat_hash_map<NodeId, NodeId> arg_arrived;
  const auto nodes = body->graph.nodes().subspan(body->num_args);
  for (const Node& node : nodes) {
    for (NodeId before : node.control_inputs) {
      if (before >= body->num_args || arg_arrived.contains(before)) continue;
      MR_ASSIGN(const Endpoint arrived,
                add_identity(caller, "arg", call.inputs[before], std::vector<NodeId>()));
      arg_arrived.emplace(before, arrived.node);
    }
  }
  BodyCopy copy(graph_, *body, call.inputs, name_for(caller, call.part) + "/",
                caller.node.requested_device());
  for (const Node& node : nodes) {
    MR_TRY(charge(node, copy.name_bytes(node)));
    MR_TRY(copy.add(node));
  }
  Lowered lowered;
  for (const Node& node : nodes) {
    const NodeId id = copy.id(node.id);
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      MR_TRY(graph_.set_input(id, static_cast<int>(slot), copy.endpoint(node.inputs[slot])));
    }
    std::vector<NodeId> before;
    for (NodeId control : node.control_inputs) {
      before.push_back(control < body->num_args ? arg_arrived.at(control) : copy.id(control));
    }
    const bool is_call = calls_functions(node.op->role);
    // A call hands it on to nodes of its body that wait for nothing.
    const bool waits = !before.empty() || !(node.inputs.empty() || is_call);
    if (!waits && call.after != kNoNode) before.push_back(call.after);
    graph_.set_control_inputs(id, std::move(before));
    if (is_call) origin_of_.emplace(id, origin);
  }
  if (call.effects == Effects::all) {
    MR_ASSIGN(const auto with_state, nodes_with_state(*body));
    for (NodeId node : with_state) lowered.effects.push_back(copy.id(node));
  }
  for (const Endpoint& source : body->returns) lowered.outputs.push_back(copy.endpoint(source));
  for (NodeId node : body->control_returns) lowered.effects.push_back(copy.id(node));
  if (call.effects == Effects::all && !lowered.effects.empty() &&
      find_flow(body->graph, 0) != kNoNode) {
    // Effects in a branch that is not taken are dead, and the call is not.
    MR_ASSIGN(const NodeId settled, add({.name = name_for(caller, "settled"),
                                         .op = "ControlTrigger",
                                         .control_inputs = std::move(lowered.effects),
                                         .device = caller.node.requested_device()}));
    lowered.effects = {settled};
    if (call.after != kNoNode) lowered.effects.push_back(call.after);
  }
  return lowered;
}

}  // namespace millrace
