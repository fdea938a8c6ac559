// Builder: a graph while a program makes it. Whoever adds nodes adds them here: the C++ functions
// of ops (scope.h), a front-end in another language, code that derives nodes from nodes. So a node
// has its name, device, colocation, control inputs and shapes by one set of rules, TensorFlow's,
// whoever made it, and is there for all others at once.
//
// A node whose shapes contradict each other is refused when it is added, so that the error points
// at the line of the program that made it. Not thread-safe: one thread at a time builds, and the
// owner of the builder sees to that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/api/surroundings.h"
#include "millrace/base/result.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/names.h"
#include "millrace/graph/shapes.h"

namespace millrace {

class Builder {
 public:
  // The registry must outlive the builder.
  explicit Builder(const OpRegistry& ops) : graph_(ops) {}

  const Graph& graph() const { return graph_; }
  void set_versions(GraphVersions versions) { graph_.set_versions(std::move(versions)); }

  // Where the program is: for those that make nodes on behalf of one that has blocks.
  Surroundings& current() { return current_; }
  const Surroundings& current() const { return current_; }

  // `name`, a full one, if no node or scope has it, else name_1, name_2 …; taken from then on.
  std::string claim_name(std::string_view name);
  // What claim_name would give.
  std::string free_name(std::string_view name) const;

  struct NewNode {
    std::string name;  // full, and claimed
    std::string_view op;
    std::vector<Endpoint> inputs = {};
    Attrs attrs = {};
  };
  // Adds a node with what `around` says of it (which may be `current()`), and infers the shapes of
  // its outputs. Nothing is added on errors, but for those of device functions.
  // Errors: those of Graph::add; INVALID_ARGUMENT of the op's shape rule, with op and node name;
  // those of device functions and flow contexts.
  Result<NodeId> add(NewNode node, const Surroundings& around);

  // The groups that a node is colocated with: "loc:@…"; its own if nothing was said.
  std::vector<std::string> colocation_groups(NodeId node) const;

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
  const PartialShape& shape(Endpoint output) const { return shapes_.of(output); }
  // Adds what the program knows of it. Errors: INVALID_ARGUMENT if they contradict each other.
  Status merge_shape(Endpoint output, const PartialShape& shape);
  // Puts another shape in place of what was inferred (a loop variable whose shape changes).
  void replace_shape(Endpoint output, PartialShape shape) {
    shapes_.replace(output, std::move(shape));
  }
  // The value of an output if it is known without running anything: constants, and shapes, sizes
  // and ranks of what has a known shape, also behind a few identities. No value otherwise.
  std::optional<Tensor> constant(Endpoint output) const { return shapes_.constant(graph_, output); }

 private:
  Status check_endpoint(Endpoint output) const;
  // Adds a node and its shapes.
  Result<NodeId> append(Graph::NewNode node);
  // A stack of its own: functions may change what surrounds the program.
  Status ask_device_functions(NodeId node, DeviceStack stack);

  Graph graph_;
  ShapeTable shapes_;
  NameClaims names_;
  Surroundings current_;
};

}  // namespace millrace
