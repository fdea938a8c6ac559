// Shapes of a graph's edges, as far as they are known before it runs.
//
// Each op's rule is asked once, in topological order, with the shapes of the node's inputs and the
// values of those that are Const. What comes round a loop is unknown: a loop may change a shape.
#pragma once

#include <span>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

class ShapeTable {
 public:
  // How many nodes the table covers, ids from 0.
  size_t size() const { return begin_.size() - 1; }
  std::span<const PartialShape> of(NodeId node) const {
    return {shapes_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }
  const PartialShape& of(Endpoint endpoint) const { return of(endpoint.node)[endpoint.output]; }
  // Forgets the nodes from id `size` on.
  void truncate(size_t size);

 private:
  friend Status extend_shapes(const Graph& graph, ShapeTable& table);
  std::vector<PartialShape> shapes_;
  std::vector<uint32_t> begin_ = {0};
};

// Infers for the nodes that the table, empty at first, does not have yet: a graph that grows need
// not be gone through again. Older nodes must not have them as inputs. On error the table is
// unchanged. Errors: INVALID_ARGUMENT for a node whose inputs can't have the shapes that they have,
// with the node and those shapes; or for a cycle that is no loop.
Status extend_shapes(const Graph& graph, ShapeTable& table);

}  // namespace millrace
