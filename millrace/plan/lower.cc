#include "millrace/plan/lower.h"

#include <algorithm>

#include "millrace/plan/expanded_size.h"
#include "millrace/plan/lower_forms.h"

namespace millrace {

const StandIn* StandIns::find(NodeId node) const {
  const auto found = stand_ins_.find(node);
  return found == stand_ins_.end() ? nullptr : &found->second;
}

void StandIns::truncate(size_t size) {
  if (size >= size_) return;
  size_ = size;
  if (first_flow_ >= size) first_flow_ = kNoNode;
  absl::erase_if(stand_ins_, [&](const auto& entry) { return entry.first >= size; });
}

bool asks_for_lowering(const Node& node) {
  const AttrValue* value = node.attrs().find("_lower_using_switch_merge");
  const bool* asks = value ? value->as_bool() : nullptr;
  return asks && *asks;
}

Result<FunctionRef> function_attr(const Node& node, std::string_view name) {
  const AttrValue* value = node.attr_view().find(name);
  const FunctionRef* function = value ? value->as_func() : nullptr;
  if (function) return *function;
  return invalid("attribute '", name, "' names no function");
}

Result<Endpoint> as_bool(Inliner& inliner, const Caller& caller, Endpoint value) {
  const Node& source = inliner.graph()[value.node];
  if (source.output_types()[static_cast<size_t>(value.output)].dtype == DType::boolean)
    return value;
  MR_ASSIGN(const NodeId id, inliner.add({.name = inliner.name_for(caller, "to_bool"),
                                          .op = "ToBool",
                                          .inputs = {value},
                                          .device = source.requested_device()}));
  return Endpoint{id, 0};
}

namespace {

// The forms of one role are told apart by what their signatures ask for.
bool names_its_target(const Node& node) { return node.op->inputs[0].name == "target"; }
bool has_condition(const Node& node) { return node.attr_view().find("cond") != nullptr; }

}  // namespace

// One run over the new nodes of a graph. Lowered nodes stay as they are until all are, so that
// copies can refer to them; then their consumers are told, and they become what is left of them.
class Lowering {
 public:
  Lowering(Graph& graph, StandIns& stand_ins, const LowerOptions& options)
      : graph_(graph),
        stand_ins_(stand_ins),
        first_(static_cast<NodeId>(stand_ins.size())),
        num_original_(static_cast<NodeId>(graph.size())),
        options_(options) {}

  Status run() {
    const auto calls = [](const Node& node) { return calls_functions(node.op->role); };
    const bool any = std::ranges::any_of(graph_.nodes().subspan(first_), calls);
    const NodeId first_flow =
        stand_ins_.first_flow_ == kNoNode ? find_flow(graph_, first_) : stand_ins_.first_flow_;
    if (any) {
      MR_TRY(check_size());
      Inliner inliner(graph_, first_flow != kNoNode, options_);
      // Bodies add nodes at the end, and may call functions themselves.
      for (NodeId id = first_; id < graph_.size(); ++id) {
        if (calls(graph_[id])) MR_TRY(lower(inliner, id));
      }
    }
    if (any || !stand_ins_.stand_ins_.empty()) {
      for (NodeId id = first_; id < graph_.size(); ++id) {
        if (!effects_.contains(id)) MR_TRY(rewire(id));
      }
      for (const auto& [id, effects] : effects_) MR_TRY(reduce(id));
    }
    for (const auto& [id, effects] : effects_) {
      if (id < num_original_) stand_ins_.stand_ins_.emplace(id, std::move(made_.at(id)));
    }
    stand_ins_.first_flow_ =
        first_flow == kNoNode && any ? find_flow(graph_, num_original_) : first_flow;
    stand_ins_.size_ = graph_.size();
    return {};
  }

 private:
  // Before anything is copied: a graph that is far too large costs no time and memory.
  Status check_size() const {
    const FunctionLibrary none;
    ExpandedSize sizes(graph_.functions() ? *graph_.functions() : none, graph_.ops());
    const uint64_t most = options_.max_bytes / sizeof(Node);
    uint64_t nodes = 0;
    for (NodeId id = first_; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (!calls_functions(node.op->role)) continue;
      nodes += sizes.of_call(node);
      if (nodes <= most) continue;
      return error(Code::resource_exhausted, "Node '", node.name, "' (", node.op->name,
                   "): with function bodies in the place of their calls the graph would have ",
                   nodes, " nodes more, or still more, and be larger than the ", options_.max_bytes,
                   " bytes that are allowed for it");
    }
    return {};
  }

  Status lower(Inliner& inliner, NodeId id) {
    const Caller caller{graph_[id], inliner.origin_of(id)};
    Result<Lowered> lowered = dispatch(inliner, caller);
    if (!lowered.ok()) {
      return lowered.status().with(
          str_cat("Node '", caller.node.name, "' (", caller.node.op->name, ")"));
    }
    StandIn made{.outputs = std::move(lowered->outputs), .done = id};
    if (id < num_original_) {
      if (lowered->effects.size() == 1) {
        made.done = lowered->effects[0];
      } else {
        MR_ASSIGN(made.done, inliner.add_no_op(caller, "done", lowered->effects));
      }
    }
    made_.emplace(id, std::move(made));
    effects_.emplace(id, std::move(lowered->effects));
    return {};
  }

  static Result<Lowered> dispatch(Inliner& inliner, const Caller& caller) {
    switch (caller.node.op->role) {
      case Role::call:
        return names_its_target(caller.node) ? lower_remote_call(inliner, caller)
                                             : lower_call(inliner, caller);
      case Role::function_gradient:
        return lower_gradient(inliner, caller);
      case Role::conditional:
        return lower_if(inliner, caller);
      case Role::selection:
        return lower_case(inliner, caller);
      case Role::loop:
        return has_condition(caller.node) ? lower_while(inliner, caller)
                                          : lower_for(inliner, caller);
      default:
        return internal("nobody lowers it");
    }
  }

  const StandIn* find(NodeId id) const {
    const auto found = made_.find(id);
    return found == made_.end() ? stand_ins_.find(id) : &found->second;
  }

  // Where a value comes from in the end: a function may return what another one returns. The chain
  // ends, since the graph has no cycle; what was passed learns the end, so it is not long twice.
  Result<Endpoint> resolve(Endpoint endpoint) {
    std::vector<Endpoint> passed;
    while (const StandIn* made = find(endpoint.node)) {
      const auto output = static_cast<size_t>(endpoint.output);
      if (output >= made->outputs.size() || passed.size() > made_.size()) {
        return internal("node '", graph_[endpoint.node].name, "' has no stand-in for its output ",
                        endpoint.output);
      }
      passed.push_back(endpoint);
      endpoint = made->outputs[output];
    }
    for (const Endpoint& on_the_way : passed) {
      const auto found = made_.find(on_the_way.node);
      if (found == made_.end()) continue;
      found->second.outputs[static_cast<size_t>(on_the_way.output)] = endpoint;
    }
    return endpoint;
  }

  // What it is to run after `id`: a control edge is to whatever stands for the node.
  NodeId resolve(NodeId id) {
    std::vector<NodeId> passed;
    for (const StandIn* made = find(id); made && made->done != id; made = find(id)) {
      passed.push_back(id);
      id = made->done;
    }
    for (NodeId on_the_way : passed) {
      const auto found = made_.find(on_the_way);
      if (found != made_.end()) found->second.done = id;
    }
    return id;
  }

  std::vector<NodeId> resolve_all(std::span<const NodeId> nodes) {
    std::vector<NodeId> resolved;
    for (NodeId id : nodes) resolved.push_back(resolve(id));
    return resolved;
  }

  Status rewire(NodeId id) {
    for (size_t slot = 0; slot < graph_[id].inputs.size(); ++slot) {
      const Endpoint source = graph_[id].inputs[slot];
      if (find(source.node) == nullptr) continue;
      MR_ASSIGN(const Endpoint resolved, resolve(source));
      MR_TRY(graph_.set_input(id, static_cast<int>(slot), resolved));
    }
    const auto& before = graph_[id].control_inputs;
    if (std::ranges::none_of(before, [&](NodeId node) { return find(node) != nullptr; })) return {};
    graph_.set_control_inputs(id, resolve_all(before));
    return {};
  }

  // What is left of a lowered node. The client can ask for its own nodes by name.
  Status reduce(NodeId id) {
    StandIn& made = made_.at(id);
    for (Endpoint& output : made.outputs) {
      MR_ASSIGN(output, resolve(output));
    }
    Graph::NewNode left{.name = std::string(graph_[id].name), .op = "NoOp"};
    if (id >= num_original_) {
      left.control_inputs = resolve_all(effects_.at(id));
    } else {
      const OpDef& op = *graph_[id].op;
      if (op.role == Role::conditional || op.role == Role::loop)
        left.attrs.set(kLoweredFrom, op.name);
      made.done = resolve(made.done);
      const bool is_waited_for =
          std::ranges::find(made.outputs, made.done, &Endpoint::node) != made.outputs.end();
      if (!is_waited_for) left.control_inputs = {made.done};
      if (!made.outputs.empty()) {
        left.op = "IdentityN";
        left.inputs = made.outputs;
      }
    }
    return graph_.replace(id, std::move(left));
  }

  Graph& graph_;
  StandIns& stand_ins_;
  const NodeId first_;
  const NodeId num_original_;
  const LowerOptions options_;
  absl::flat_hash_map<NodeId, StandIn> made_;
  absl::flat_hash_map<NodeId, std::vector<NodeId>> effects_;
};

Status lower_functions(Graph& graph, StandIns& stand_ins, const LowerOptions& options) {
  return Lowering(graph, stand_ins, options).run();
}

}  // namespace millrace
