// ClientGraph: a program's graph while it is being built.
//
// A Graph plus what a front-end wants to know at once: the shape of every output as far as it can
// be inferred, and the values that are known before anything runs. A node whose shapes contradict
// each other is refused when it is added, so the error points at the line of the program that made
// it.
//
// It knows nothing of Python, names scopes or sessions. Owned by one front-end graph; not
// thread-safe: the owner holds a lock (or the GIL) while calling.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/result.h"
#include "millrace/graph/graph.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace::python {

class ClientGraph {
 public:
  // The registry must outlive the graph.
  explicit ClientGraph(const OpRegistry& ops);

  const Graph& graph() const { return graph_; }

  // Adds the node and infers its outputs' shapes. Nothing is added on errors.
  // Errors: those of Graph::add; INVALID_ARGUMENT of the op's shape rule, with op and node name.
  Result<NodeId> add(Graph::NewNode node);
  // Replaces an input, typically one of a Merge whose loop is now complete. Shapes stay as they
  // were. Errors: INVALID_ARGUMENT for a slot or an output that is not there; those of
  // Graph::set_input.
  Status set_input(NodeId node, int slot, Endpoint source);
  void add_control_input(NodeId node, NodeId before) { graph_.add_control_input(node, before); }
  void set_requested_device(NodeId node, std::string_view device) {
    graph_.set_requested_device(node, device);
  }
  // Outputs that the node has from then on have unknown shapes.
  Status set_attr(NodeId node, std::string_view name, AttrValue value);

  // What is known of an output's shape.
  const PartialShape& shape(Endpoint output) const { return shapes_[output.node][output.output]; }
  // Adds what the program knows of it. Errors: INVALID_ARGUMENT if they contradict each other.
  Status merge_shape(Endpoint output, const PartialShape& shape);
  // Puts another shape in place of what was inferred (a loop variable whose shape changes).
  void replace_shape(Endpoint output, PartialShape shape);

  // The value of an output if it is known without running anything: constants, and shapes, sizes
  // and ranks of what has a known shape, also behind a few identities. No value otherwise.
  std::optional<Tensor> constant(Endpoint output) const;

 private:
  Status check_endpoint(Endpoint output) const;
  Result<std::vector<PartialShape>> infer(const Node& node) const;
  Endpoint behind_identities(Endpoint output) const;

  Graph graph_;
  std::vector<absl::InlinedVector<PartialShape, 1>> shapes_;  // by node, by output
};

}  // namespace millrace::python
