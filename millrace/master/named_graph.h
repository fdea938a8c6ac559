// NamedGraph: a client's graph as masters are sent it, and what a step needs of it, found by names.
//
// For who stands in front of a master and must know what a step will run before it is planned.
// Nothing is checked: what is not known is passed over. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"

#include "millrace/master/prepared_step.h"
#include "millrace/op/registry.h"
#include "millrace/wire/graph_def.h"

namespace millrace {

// The StepLease of clients that name their steps, to make them again (session/retry_graph.h).
inline constexpr std::string_view kRetryStepNode = "_retry/step";

class NamedGraph {
 public:
  struct Node {
    const OpDef* op = nullptr;             // null: a function, by its own name
    std::vector<std::string> inputs = {};  // as in NodeDef; none in a function
    std::vector<std::string> calls = {};   // functions
  };
  // A node that a step runs, or may run.
  struct Needed {
    std::string_view name;
    const Node& node;
    bool is_in_function = false;
    // Planning makes a node of the step's own graph of it, outside of loops: as nodes of the graph
    // itself are, but for those that is_any_in_loop() tells, and those of functions that are called
    // there. Not what loops call, nor kernels (a dataset's function).
    bool is_plain = true;
  };

  // `ops` outlives this.
  explicit NamedGraph(const OpRegistry& ops) : ops_(ops) {}

  // Notes nodes and functions, of which some may be known already.
  void extend(const wire::GraphDef& graph);
  // Null if there is none of that name.
  const Node* find(std::string_view name) const;
  // Whether all that the node calls is known.
  bool knows_calls_of(const Node& node) const;
  // Each node once that the step needs, as far as it is known: what is fed is not run, nor what
  // another tensor stands for. A function's nodes come for each way in which it is called.
  void visit(const StepRequestNames& names, absl::FunctionRef<void(const Needed&)> visitor) const;
  // Whether any of these nodes of the graph runs inside of a while loop.
  bool is_any_in_loop(const std::vector<std::string>& names) const;

  // "node" of "node:1" and of "^node".
  static std::string_view node_of(std::string_view input);

 private:
  struct Body {
    std::vector<std::pair<std::string, Node>> nodes;
    bool has_loop = false;  // of TensorFlow 1
  };
  using Called = absl::flat_hash_set<std::pair<std::string, bool>>;

  Node noted(const wire::NodeDef& node) const;
  void visit_body(const std::string& function, bool is_plain, Called& seen,
                  absl::FunctionRef<void(const Needed&)> visitor) const;

  const OpRegistry& ops_;
  absl::flat_hash_map<std::string, Node> nodes_;
  absl::flat_hash_map<std::string, Body> functions_;
};

}  // namespace millrace
