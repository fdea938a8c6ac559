// Which nodes lie between xs and ys: what the gradient's walk visits, and in which order.
#pragma once

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/autodiff/loops.h"
#include "millrace/graph/graph.h"

namespace millrace {

// True for types that have gradients: floating and complex ones, and handles of variables, by which
// they go to the variable.
bool is_trainable(DType dtype);

class Between {
 public:
  // `stops` are nodes that no gradient passes. Without `loops`, which are the graph's, no order is
  // to be relied on where there is a loop.
  Between(const Graph& graph, std::span<const Endpoint> ys, std::span<const Endpoint> xs,
          std::span<const Endpoint> stops, const Loops* loops = nullptr);

  // All that the ys are computed from, each after its inputs. What closes a loop comes before what
  // leaves it, and after all that it is computed from in an iteration.
  const std::vector<NodeId>& order() const { return order_; }
  // True if the output is an x, or depends on one by types that have gradients.
  bool leads_to_x(const Graph& graph, Endpoint output) const;
  // True if the node has an input that does, and no stop stands in the way.
  bool passes_on(NodeId node) const;

 private:
  void visit(const Graph& graph, const Loops* loops, NodeId from);
  bool leads(const Graph& graph, const Node& node) const;

  std::vector<NodeId> order_;
  absl::flat_hash_map<NodeId, bool> passes_on_;  // of the nodes that were met
  absl::flat_hash_set<Endpoint> xs_;
  absl::flat_hash_set<NodeId> stops_;
};

}  // namespace millrace
