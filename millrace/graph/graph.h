// Graph: nodes and the edges between them. The one intermediate representation of Millrace; what
// clients send is imported into it, what planning passes take and give is it, what workers run is
// compiled from it.
//
// Nodes are numbered densely in order of creation; an id stays valid as long as the graph. Ids need
// not be in the order of the edges: an imported graph has that of its GraphDef. A Graph is a value:
// copying copies the nodes, moving is free. It holds only nodes that make sense one by one (known
// op, right number and types of inputs, valid attributes); whether they make sense together (no
// cycle outside a loop) is `validate`. Not thread-safe while it is being changed.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_set.h"

#include "millrace/base/result.h"
#include "millrace/base/text_arena.h"
#include "millrace/graph/control_inputs.h"
#include "millrace/graph/name_index.h"
#include "millrace/graph/node_kind.h"
#include "millrace/op/attrs.h"
#include "millrace/op/endpoint.h"
#include "millrace/op/registry.h"

namespace millrace {

namespace wire {
struct FunctionDef;
}

// Large graphs have millions of them, so each byte counts: 96 they are (docs/design/builder.md).
// Texts are kept by the graph, and live as long as it does.
struct Node {
  NodeId id = kNoNode;
  std::string_view name;
  const OpDef* op = nullptr;
  absl::InlinedVector<Endpoint, 2> inputs;  // data inputs in slot order
  ControlInputs control_inputs;             // must have run before this one
  NodeKinds::Shared kind;

  // As the client wrote it. Equal texts of one graph have one address, here and below.
  std::string_view requested_device() const { return text_or_none(requested_device_); }
  // Full name once placed; empty before.
  std::string_view device() const { return text_or_none(device_); }
  const Attrs& attrs() const { return kind->attrs; }
  AttrView attr_view() const { return {*op, attrs()}; }
  const TypeList& input_types() const { return kind->input_types; }
  const TypeList& output_types() const { return kind->output_types; }
  int num_outputs() const { return static_cast<int>(output_types().size()); }

 private:
  friend class Graph;
  static std::string_view text_or_none(const std::string* text) {
    return text ? std::string_view(*text) : std::string_view();
  }

  const std::string* requested_device_ = nullptr;
  const std::string* device_ = nullptr;
};

// On a node that stands where a conditional or a loop was (plan/lower.h): the op that it was.
inline constexpr std::string_view kLoweredFrom = "_lowered_from";

// TensorFlow's GraphDef versions, passed on unchanged.
struct GraphVersions {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

// The functions that came with a graph, by name. What they mean is function.h.
using FunctionLibrary =
    std::map<std::string, std::shared_ptr<const wire::FunctionDef>, std::less<>>;

class Graph {
 public:
  explicit Graph(const OpRegistry& ops) : ops_(&ops) {}
  Graph(const Graph& other);
  Graph& operator=(const Graph& other) { return *this = Graph(other); }
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;

  const OpRegistry& ops() const { return *ops_; }
  size_t size() const { return nodes_.size(); }
  bool empty() const { return nodes_.empty(); }
  // Of all its nodes together.
  size_t num_outputs() const { return num_outputs_; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  Nodes::View nodes() const { return nodes_.view(); }
  const GraphVersions& versions() const { return versions_; }
  void set_versions(GraphVersions versions) { versions_ = std::move(versions); }
  // Null if there are none. Copies and subsets share it.
  const std::shared_ptr<const FunctionLibrary>& functions() const { return functions_; }
  void set_functions(std::shared_ptr<const FunctionLibrary> functions) {
    functions_ = std::move(functions);
  }

  // Null if there is no such node.
  const Node* find(std::string_view name) const;
  // The ids of many names, kNoNode where there is no such node; quicker than one by one.
  std::vector<NodeId> find_all(std::span<const std::string_view> names) const;

  struct NewNode {
    std::string name;
    std::string_view op;
    std::vector<Endpoint> inputs = {};
    std::vector<NodeId> control_inputs = {};
    Attrs attrs = {};
    std::string_view device = {};  // requested
    const OpDef* def = nullptr;    // in place of `op`: the registry's, by whoever looked it up
  };
  // Adds a node whose inputs are there already. Type and count attributes that its inputs decide
  // may be left out and are filled in. Errors: INVALID_ARGUMENT (unknown op, with suggestions;
  // wrong number or type of inputs, with both types; bad attribute; bad name; output index out of
  // range), ALREADY_EXISTS (name).
  Result<NodeId> add(NewNode node);
  // Like `add`, but an input may be Endpoint{kNoNode, …}: open, set later by set_input. What only
  // open inputs decide has the op's default, and is an error if there is none.
  Result<NodeId> add_with_back_edges(NewNode node);
  // A copy of a node of another graph with the same registry: all its data inputs open, no control
  // inputs. Errors: ALREADY_EXISTS.
  Result<NodeId> add_copy(const Node& original);
  // The same under another name, for another device.
  Result<NodeId> add_copy(const Node& original, std::string_view name,
                          std::string_view requested_device);

  // Rewiring, for passes. Types must fit (INVALID_ARGUMENT).
  Status set_input(NodeId node, int slot, Endpoint source);
  void add_control_input(NodeId node, NodeId before);                // does nothing if it is there
  void set_control_inputs(NodeId node, std::vector<NodeId> before);  // repeats are dropped
  void set_device(NodeId node, std::string_view full_name);
  void set_requested_device(NodeId node, std::string_view device);
  Status set_attr(NodeId node, std::string_view name, AttrValue value);
  // Makes a node another one, which keeps the id, the name and the requested device; `by` has the
  // rest. Errors: as `add`. Whether its consumers can do with its new outputs is not checked.
  Status replace(NodeId node, NewNode by);

  // Makes room for `count` nodes in total.
  void reserve(size_t count);
  // Takes back the nodes from id `size` on; costs by how many they are. Nodes that stay must not
  // have them as inputs.
  void truncate(size_t size);

  // Keeps only the nodes for which `keep` is true, in the same order; inputs of kept nodes must be
  // kept. Returns for each old id the new one, or kNoNode.
  std::vector<NodeId> retain(const std::vector<bool>& keep);

  // `prefix` if free, else prefix_1, prefix_2 …
  std::string unique_name(std::string_view prefix) const;

 private:
  // Null for no text.
  const std::string* intern(std::string_view text);
  void forget_unused();
  // Gives a node that is all but added its kind, and checks its inputs.
  Status complete(Node& node, Attrs attrs);
  Status check_source(const Node& node, int slot, Endpoint source) const;
  // `node.name` is the caller's text.
  Result<NodeId> append(Node node);

  const OpRegistry* ops_;
  Nodes nodes_;
  size_t num_outputs_ = 0;
  TextArena names_;  // of the nodes, in the order of their ids
  NameIndex by_name_;
  NodeKinds kinds_;
  // Device names: few distinct ones, many nodes; the strings never move.
  absl::node_hash_set<std::string> interned_;
  size_t num_used_strings_ = 0;  // when they were last counted
  GraphVersions versions_;
  std::shared_ptr<const FunctionLibrary> functions_;
};

// Who consumes what: the edges of a graph in the other direction, in one flat array.
class FanOut {
 public:
  struct Edge {
    int32_t output;  // of the producer; -1 for a control edge
    NodeId consumer;
    int32_t slot;  // of the consumer; -1 for a control edge
  };
  // Of the edges between nodes from `first` on; others are not looked at.
  explicit FanOut(const Graph& graph, NodeId first = 0);
  // In order of consumers and their slots, control edges of a consumer last.
  std::span<const Edge> of(NodeId node) const {
    return {edges_.data() + begin_[node - first_],
            begin_[node - first_ + 1] - begin_[node - first_]};
  }

 private:
  const NodeId first_;
  std::vector<uint32_t> begin_;
  std::vector<Edge> edges_;
};

// True for the edge that closes a loop: the data edge from a NextIteration to a Merge.
bool is_back_edge(const Node& producer, const Node& consumer);

// Nodes so that each comes after its inputs, back edges (NextIteration -> Merge) and open inputs
// not counted; the order of ids where that is such an order already. Errors: INVALID_ARGUMENT
// naming the nodes of a cycle that is no loop.
//
// With `first`, of the nodes from there on alone, for a graph that has grown: nodes before it must
// not have them as inputs.
Result<std::vector<NodeId>> topological_order(const Graph& graph, NodeId first = 0);

// "name:0" and so on -> endpoint; "name" means output 0.
// Errors: NOT_FOUND for the node, INVALID_ARGUMENT for the index.
Result<Endpoint> find_endpoint(const Graph& graph, std::string_view tensor_name);
// "name", "name:3": how clients write an endpoint in a node's inputs.
std::string endpoint_name(const Graph& graph, Endpoint endpoint);

// A tensor's name taken apart. The index is 0 if none is written; digits only, below 2^31.
struct TensorName {
  std::string_view node;
  int32_t output = 0;
};
TensorName parse_tensor_name(std::string_view text);

// The value of a Const, of the type of its output; null for any other node.
const Tensor* constant_value(const Node& node);

}  // namespace millrace
