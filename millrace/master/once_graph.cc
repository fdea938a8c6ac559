#include "millrace/master/once_graph.h"

#include <chrono>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

constexpr std::string_view kLeaseNode = "_once/lease";

bool is_gate_op(std::string_view op) {
  return op == "Enter" || op == "RefEnter" || op == "Switch" || op == "RefSwitch";
}

float in_seconds(Clock::Duration duration) {
  return std::chrono::duration<float>(duration).count();
}

// "node" of "node:1" and of "^node".
std::string_view node_of(std::string_view input) {
  if (input.starts_with('^')) return input.substr(1);
  return input.substr(0, input.find(':'));
}

// As feeds are written: "node:0" for "node".
std::string endpoint_of(std::string_view input) {
  return input.find(':') == std::string_view::npos ? str_cat(input, ":0") : std::string(input);
}

}  // namespace

wire::GraphDef OnceGraph::own_nodes() const {
  wire::GraphDef made;
  made.nodes.push_back({.name = std::string(kLeaseNode),
                        .op = "Placeholder",
                        .device = {},
                        .inputs = {},
                        .attrs = {{"dtype", DType::string}, {"shape", PartialShape::scalar()}}});
  made.nodes.push_back({.name = std::string(kAfterNode),
                        .op = "StepLease",
                        .device = {},
                        .inputs = {std::string(kLeaseNode)},
                        .attrs = {{"takes", true}, {"seconds", in_seconds(lease_)}}});
  return made;
}

OnceGraph::Node OnceGraph::noted(const wire::NodeDef& node) const {
  Node made{.inputs = node.inputs, .is_gate = is_gate_op(node.op)};
  made.effects.takes = node.op.starts_with("QueueDequeue");
  made.effects.has_own_lease = node.op == "StepLease";
  const OpDef* const op = ops_.find(node.op);
  if (op == nullptr) {
    made.calls.push_back(node.op);  // a function by its own name
  } else {
    made.effects.updates = is_made_once(*op);
  }
  for (const auto& [name, value] : node.attrs) {
    if (const FunctionRef* function = value.as_func()) made.calls.push_back(function->name);
    if (const auto* several = value.as_list_of<FunctionRef>()) {
      for (const FunctionRef& function : *several) made.calls.push_back(function.name);
    }
  }
  return made;
}

void OnceGraph::extend(wire::GraphDef& graph) {
  for (const wire::FunctionDef& function : graph.functions) {
    std::vector<Node> body;
    for (const wire::NodeDef& node : function.nodes) {
      Node made = noted(node);
      made.inputs.clear();
      body.push_back(std::move(made));
    }
    functions_[function.name] = std::move(body);
  }
  std::vector<std::string> dequeues;
  for (const wire::NodeDef& node : graph.nodes) {
    nodes_[node.name] = noted(node);
    // Those of before TensorFlow 1.0 and of many elements are refused when they are planned.
    if (node.op == "QueueDequeueV2" && !node.inputs.empty()) dequeues.push_back(node.name);
  }
  for (const std::string& dequeue : dequeues) add_lease_nodes(dequeue, graph.nodes);
}

void OnceGraph::add_lease_nodes(const std::string& dequeue, std::vector<wire::NodeDef>& nodes) {
  Node& node = nodes_[dequeue];
  const std::string& queue = node.inputs[0];
  // Beyond a gate of a loop or a conditional there may be no queue; then there are no heartbeats.
  const auto found = nodes_.find(to_absl(node_of(queue)));
  if (found == nodes_.end() || found->second.is_gate) return;
  node.has_lease_nodes = true;
  nodes.push_back({.name = str_cat("_once/extend/", dequeue),
                   .op = "QueueExtendLease",
                   .device = {},
                   .inputs = {queue, std::string(kLeaseNode)},
                   .attrs = {{"seconds", in_seconds(lease_)}}});
  nodes.push_back({.name = str_cat("_once/end/", dequeue),
                   .op = "QueueEndLease",
                   .device = {},
                   .inputs = {queue, std::string(kLeaseNode)},
                   .attrs = {}});
}

void OnceGraph::add_function_effects(const std::string& function, Names& seen,
                                     Effects& effects) const {
  const auto body = functions_.find(function);
  if (body == functions_.end() || !seen.insert(function).second) return;
  for (const Node& node : body->second) {
    effects.add(node.effects);
    for (const std::string& called : node.calls) add_function_effects(called, seen, effects);
  }
}

OnceGraph::StepKind OnceGraph::kind_of(const StepRequestNames& names) const {
  const Names fed(names.feeds.begin(), names.feeds.end());
  Names seen, seen_functions;
  std::vector<const Node*> to_visit;
  StepKind kind;
  Effects effects;
  const auto reach = [&](std::string_view input) {
    if (!input.starts_with('^') && fed.contains(endpoint_of(input))) return;
    const auto found = nodes_.find(to_absl(node_of(input)));
    if (found == nodes_.end() || !seen.insert(found->first).second) return;
    to_visit.push_back(&found->second);
    if (found->second.has_lease_nodes) kind.dequeue = found->first;
  };
  for (const std::string& fetch : names.fetches) reach(fetch);
  for (const std::string& target : names.targets) reach(str_cat("^", node_of(target)));
  while (!to_visit.empty()) {
    const Node& node = *to_visit.back();
    to_visit.pop_back();
    effects.add(node.effects);
    for (const std::string& called : node.calls)
      add_function_effects(called, seen_functions, effects);
    for (const std::string& input : node.inputs) reach(input);
  }
  if (effects.has_own_lease) return {};
  kind.updates = effects.updates;
  kind.takes = effects.takes;
  return kind;
}

}  // namespace millrace
