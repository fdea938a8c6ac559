// Inliner: puts copies of function bodies into a graph. What the forms of lowering (lower_forms.h)
// build with; knows the limits of how much a graph may grow. Part of lowering.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/function.h"
#include "millrace/graph/graph.h"
#include "millrace/plan/lower.h"

namespace millrace {

// A node that is being lowered. A copy: the graph's nodes move while it grows.
struct Caller {
  Node node;
  size_t origin = 0;  // what body it is from; the Inliner's number
};

// What takes the place of a node.
struct Lowered {
  std::vector<Endpoint> outputs;
  std::vector<NodeId> effects;  // once they ran, the node has run
};

// The first node of TensorFlow 1's control flow among those from `first` on, or kNoNode.
NodeId find_flow(const Graph& graph, NodeId first);

class Inliner {
 public:
  // `has_flow`: the graph has nodes of TensorFlow 1's control flow.
  Inliner(Graph& graph, bool has_flow, const LowerOptions& options);

  Graph& graph() { return graph_; }
  const LowerOptions& options() const { return options_; }

  // A new name inside that of the caller: "cond/merge/_7".
  std::string name_for(const Caller& caller, std::string_view part) const;
  // Adds a node; open inputs are allowed.
  Result<NodeId> add(Graph::NewNode node);
  // Adds an Identity beside the node that `source` comes from, to run after `before`.
  Result<Endpoint> add_identity(const Caller& caller, std::string_view part, Endpoint source,
                                std::vector<NodeId> before);
  Result<NodeId> add_no_op(const Caller& caller, std::string_view part, std::vector<NodeId> before);

  // What of a body counts as its effect: its control outputs, or all that has state as well, as far
  // as the body's own conditionals come to it.
  enum class Effects : uint8_t { declared, all };
  enum class Derivative : uint8_t { none, first };
  struct Call {
    std::string_view part;  // of the caller: "then"; names the copies
    const FunctionRef& function;
    std::vector<Endpoint> inputs;
    std::optional<TypeList> outputs;  // what they must be
    std::string_view known_as = {};  // the body in TensorFlow's words, if its clients look for them
    NodeId after = kNoNode;          // nodes of the body that wait for nothing wait for this
    Effects effects = Effects::declared;
    Derivative derivative = Derivative::none;  // first: in place of the body, its gradient
  };
  // Adds a copy of a body. Nodes in it that call functions are lowered later.
  Result<Lowered> add_body(const Caller& caller, const Call& call);

  // True if the graph, or a body so far, had nodes of TensorFlow 1's control flow: a node may be
  // dead without a caller that is.
  bool has_flow() const { return has_flow_; }
  // The body that a node that calls functions is a copy from; 0 if the client made it.
  size_t origin_of(NodeId node) const;

 private:
  struct Origin {
    std::string function;
    size_t parent = 0;
    size_t depth = 0;
  };
  using Body = std::shared_ptr<const FunctionBody>;

  Result<Body> body_of(const FunctionRef& function);
  Result<Body> declared_gradient_of(const Call& call);
  Result<Body> gradient_of(const Call& call);
  Result<size_t> enter(const Caller& caller, const FunctionRef& function);
  Status check(const Call& call, const FunctionBody& body) const;
  Status charge(const Node& node, size_t name_bytes);

  Graph& graph_;
  const LowerOptions options_;
  const FunctionLibrary no_functions_;
  bool has_flow_ = false;
  size_t bytes_ = 0;
  std::vector<Origin> origins_;                    // the first stands for the client's graph
  absl::flat_hash_map<NodeId, size_t> origin_of_;  // of nodes that call functions
  absl::flat_hash_map<std::string, Body> bodies_;  // of functions without attributes
};

}  // namespace millrace
