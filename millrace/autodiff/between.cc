#include "millrace/autodiff/between.h"

#include <algorithm>

namespace millrace {

bool is_trainable(DType dtype) {
  return is_floating(dtype) || is_complex(dtype) || dtype == DType::resource;
}

Between::Between(const Graph& graph, std::span<const Endpoint> ys, std::span<const Endpoint> xs,
                 std::span<const Endpoint> stops)
    : xs_(xs.begin(), xs.end()) {
  for (const Endpoint& stop : stops) stops_.insert(stop.node);
  for (const Endpoint& y : ys) visit(graph, y.node);
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
void Between::visit(const Graph& graph, NodeId from) {
  struct Visit {
    NodeId node;
    size_t next_input = 0;
  };
  if (!passes_on_.try_emplace(from, false).second) return;
  std::vector<Visit> open = {{from}};
  while (!open.empty()) {
    Visit& top = open.back();
    const Node& node = graph[top.node];
    if (top.next_input < node.inputs.size()) {
      const NodeId input = node.inputs[top.next_input++].node;
      if (passes_on_.try_emplace(input, false).second) open.push_back({input});
      continue;
    }
    const bool leads =
        !stops_.contains(node.id) && std::ranges::any_of(node.inputs, [&](const Endpoint& input) {
          return leads_to_x(graph, input);
        });
    passes_on_[node.id] = leads;
    order_.push_back(node.id);
    open.pop_back();
  }
}

}  // namespace millrace
