#include "millrace/autodiff/between.h"

#include <algorithm>

namespace millrace {

bool is_trainable(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) || dtype == DType::resource ||
         dtype == DType::variant;
}

Between::Between(const Graph& graph, std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                 std::span<const Endpoint> stops, const Loops* loops)
    : xs_(xs.begin(), xs.end()) {
  for (const Endpoint& stop : stops) stops_.insert(stop.node);
  for (const Endpoint& y : ys) visit(graph, loops, y.node);
  // Around a loop, what leads to an x may be known only once its end is.
  for (bool changes = loops != nullptr; changes;) {
    changes = false;
    for (const NodeId node : order_) {
      if (passes_on_[node]) continue;
      const bool is_kept = std::ranges::any_of(loops->pushes_of(node),
                                               [&](NodeId push) { return passes_on_[push]; });
      if (!(is_kept && !stops_.contains(node)) && !leads(graph, graph[node])) continue;
      passes_on_[node] = changes = true;
    }
  }
}

bool Between::leads(const Graph& graph, const Node& node) const {
  return !stops_.contains(node.id) && std::ranges::any_of(node.inputs, [&](const Endpoint& input) {
    return leads_to_x(graph, input);
  });
}

bool Between::passes_on(NodeId node) const {
  const auto found = passes_on_.find(node);
  return found != passes_on_.end() && found->second;
}

bool Between::leads_to_x(const Graph& graph, Endpoint output) const {
  if (!is_trainable(graph[output.node].output_types()[output.output].dtype)) return false;
  return xs_.contains(output) || passes_on(output.node);
}

// Depth first, without recursion: graphs are deeper than stacks.
void Between::visit(const Graph& graph, const Loops* loops, NodeId from) {
  struct Visit {
    NodeId node;
    size_t next_input = 0;
    std::vector<NodeId> closing = {};  // what comes before it by another way than edges
  };
  if (!passes_on_.try_emplace(from, false).second) return;
  std::vector<Visit> open = {{.node = from}};
  const auto meet = [&](NodeId input) {
    if (passes_on_.try_emplace(input, false).second) open.push_back({.node = input});
  };
  while (!open.empty()) {
    Visit& top = open.back();
    const Node& node = graph[top.node];
    if (top.next_input == 0 && loops != nullptr) top.closing = loops->ends_behind(node);
    const size_t at = top.next_input++;
    if (at < node.inputs.size()) {
      if (loops == nullptr || !is_back_edge(graph[node.inputs[at].node], node))
        meet(node.inputs[at].node);
    } else if (at - node.inputs.size() < top.closing.size()) {
      meet(top.closing[at - node.inputs.size()]);
    } else {
      passes_on_[node.id] = leads(graph, node);
      order_.push_back(node.id);
      open.pop_back();
    }
  }
}

}  // namespace millrace
