// Shapes of a graph's edges, as far as they are known before anything runs, and the values that
// follow from them.
//
// Each op's rule is asked once per node, with the shapes of the node's inputs and what is known of
// their values: constants, what Shape, Size and Rank tell of known shapes, and the sizes that
// programs put together of these (OpDef::elements), even if some are not known; also behind a few
// identities. What comes round a loop is unknown: a loop may change a shape.
//
// The table stands beside its graph and grows as the graph does: node by node while a program makes
// it, by what an extension brings at a master. It knows the graph by the numbers of its nodes
// alone, so it is handed in with each call. Few shapes of a graph differ: a table keeps each once,
// and four bytes for an output. A value; not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/graph.h"
#include "millrace/op/infer.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What the op's rule says of a node with such inputs, an entry per output; `values` has null where
// nothing is known. Errors: the rule's.
Result<std::vector<PartialShape>> infer_outputs(const Node& node,
                                                std::span<const PartialShape> inputs,
                                                std::span<const Tensor* const> values,
                                                const InferContext::AskElements* ask = nullptr);

class ShapeTable {
 public:
  ShapeTable();

  // How many nodes the table covers, ids from 0.
  size_t size() const { return begin_.size() - 1; }
  // Valid until the table changes.
  const PartialShape& of(Endpoint output) const;

  // Takes in the nodes that `graph` has got since; older ones must not have them as inputs. On
  // error the table is unchanged. Errors: INVALID_ARGUMENT for a node whose inputs can't have the
  // shapes that they have, with the node and those shapes; or for a cycle that is no loop.
  Status extend(const Graph& graph);
  // The same for one node, the next one, which has all its inputs. Errors: those of its op's rule,
  // in its words.
  Status add(const Graph& graph, NodeId node);
  // Forgets the nodes from id `size` on.
  void truncate(size_t size);

  // Adds what a program knows of an output. Errors: INVALID_ARGUMENT if that contradicts what is
  // known.
  Status merge(Endpoint output, const PartialShape& more);
  // Puts another shape in place of what was inferred (a loop variable whose shape changes).
  void replace(Endpoint output, PartialShape shape);
  // The node has so many outputs from now on; nothing is known of further ones.
  void set_num_outputs(NodeId node, int count);

  // The value of an output if it is known without running anything; none otherwise.
  std::optional<Tensor> constant(const Graph& graph, Endpoint output) const;

 private:
  using ShapeId = uint32_t;
  static constexpr ShapeId kUnknown = 0;

  // What rules are asked with, reused from node to node.
  struct Question {
    std::vector<PartialShape> shapes;
    std::deque<Tensor> made;  // values that no node holds
    std::vector<const Tensor*> values;
  };

  void make_room(const Graph& graph, size_t first, size_t end);
  Status infer(const Graph& graph, const Node& node, Question& question);
  // Null if nothing is known; otherwise held by a node, or by `made`.
  const Tensor* value(const Graph& graph, Endpoint output, std::deque<Tensor>& made) const;
  // Of an int32 or int64 vector or scalar. `budget`: how many nodes may be looked at.
  std::optional<KnownElements> elements(const Graph& graph, Endpoint output, int& budget) const;
  std::optional<KnownElements> put_together(const Graph& graph, const Node& node,
                                            int& budget) const;
  ShapeId id_of(const PartialShape& shape);
  const ShapeId& slot(Endpoint output) const;
  ShapeId& slot(Endpoint output) {
    return const_cast<ShapeId&>(static_cast<const ShapeTable*>(this)->slot(output));
  }
  void forget_unused_shapes();

  std::vector<uint32_t> begin_ = {0};
  std::vector<ShapeId> ids_;  // by output, those of a node beside each other
  absl::flat_hash_map<NodeId, std::vector<ShapeId>> resized_;  // nodes whose outputs changed

  std::vector<PartialShape> shapes_;                // each once
  absl::flat_hash_map<uint64_t, ShapeId> by_hash_;  // of two with one hash, the first
  size_t num_used_shapes_ = 0;                      // when they were last counted
};

}  // namespace millrace
