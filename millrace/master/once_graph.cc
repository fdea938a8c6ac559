#include "millrace/master/once_graph.h"

#include <chrono>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

constexpr std::string_view kLeaseNode = "_once/lease";

bool is_gate(const NamedGraph::Node& node) {
  const Role role = node.op == nullptr ? Role::ordinary : node.op->role;
  return role == Role::enter || role == Role::switch_;
}

float in_seconds(Clock::Duration duration) {
  return std::chrono::duration<float>(duration).count();
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

void OnceGraph::extend(wire::GraphDef& graph) {
  graph_.extend(graph);
  std::vector<std::string> dequeues;
  for (const wire::NodeDef& node : graph.nodes) {
    // Those of before TensorFlow 1.0 and of many elements are refused when they are planned.
    if (node.op == "QueueDequeueV2" && !node.inputs.empty()) dequeues.push_back(node.name);
  }
  for (const std::string& dequeue : dequeues) add_lease_nodes(dequeue, graph.nodes);
}

void OnceGraph::add_lease_nodes(const std::string& dequeue, std::vector<wire::NodeDef>& nodes) {
  const std::string queue = graph_.find(dequeue)->inputs[0];
  // Beyond a gate of a loop or a conditional there may be no queue; then there are no heartbeats.
  const NamedGraph::Node* const source = graph_.find(NamedGraph::node_of(queue));
  if (source == nullptr || is_gate(*source)) return;
  dequeues_.insert(dequeue);
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

OnceGraph::StepKind OnceGraph::kind_of(const StepRequestNames& names) const {
  StepKind kind;
  bool has_own_lease = false;
  graph_.visit(names, [&](const NamedGraph::Needed& needed) {
    const OpDef* const op = needed.node.op;
    if (op == nullptr) return;
    kind.updates |= is_made_once(*op);
    kind.takes |= op->name.starts_with("QueueDequeue");
    has_own_lease |= op->name == "StepLease";
    if (!needed.is_in_function && dequeues_.contains(to_absl(needed.name)))
      kind.dequeue = std::make_shared<const std::string>(needed.name);
  });
  return has_own_lease ? StepKind() : kind;
}

}  // namespace millrace
