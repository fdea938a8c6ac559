// Conditionals of TensorFlow 1, as Switch and Merge make them: which branch of which of them each
// node runs in, and their gradients.
//
// A Switch sends a value into one of two branches. All that depends on it there, by data or by
// control, runs in that branch alone, up to the Merge of both; a _SwitchN, which lowered Case nodes
// have, sends it into one of several. Conditionals nest. The gradient of a Merge is a Switch by the
// same predicate, since only the branch that was taken gets one; that of a Switch is a Merge, with
// zeros from the branch that has no use for the value. What is added runs, and is dead, with the
// branch that it belongs to.
//
// A loop's iterations are a branch too, which its LoopCond decides; its Merges and Switches are
// turned round elsewhere (loop_gradient.h).
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "millrace/autodiff/gradients.h"
#include "millrace/autodiff/loops.h"
#include "millrace/autodiff/placed_nodes.h"
#include "millrace/graph/graph.h"

namespace millrace {

class Conditionals {
 public:
  using BranchId = uint32_t;
  static constexpr BranchId kOutside = 0;

  struct Branch {
    BranchId parent = kOutside;
    uint32_t depth = 0;
    Endpoint predicate;   // as the first Switch that was met has it
    Endpoint decided_by;  // behind identities
    int side = 0;         // 0 where it is false, 1 where it is true; of a _SwitchN the index
    int num_sides = 2;
    bool is_indexed = false;  // by an integer

    // The op that sends a value into it by the predicate, to the output `side`, and its attributes.
    std::string_view sender() const { return is_indexed ? "_SwitchN" : "Switch"; }
    Attrs sender_attrs() const { return is_indexed ? Attrs{{"num_outs", num_sides}} : Attrs{}; }
  };

  // Of the nodes that `graph` has now; `loops` are the graph's. Errors: INVALID_ARGUMENT for a
  // cycle that is no loop.
  static Result<Conditionals> of(const Graph& graph, const Loops& loops);

  // The branch that an output of those nodes is alive in.
  BranchId of_output(const Graph& graph, Endpoint output) const;
  const Branch& operator[](BranchId branch) const { return branches_[branch]; }

  // The gradients of the inputs of a Merge of all branches of one predicate, or of a Switch, in
  // slot order. `arriving` has an entry per output. Errors: UNIMPLEMENTED for a Merge of anything
  // else.
  Result<std::vector<Gradient>> gradients(PlacedNodes& nodes, NodeId node,
                                          const std::vector<Gradient>& arriving) const;

 private:
  void place(const Graph& graph, const Loops& loops, const Node& node);
  // The branch of the first output of a Switch that runs in `parent`; those of others follow it.
  BranchId first_branch(const Graph& graph, BranchId parent, const Node& node);
  // The branches whose ends the Merge is, in slot order.
  std::optional<std::vector<BranchId>> ends(const Graph& graph, const Node& merge) const;
  Result<std::vector<Gradient>> of_merge(PlacedNodes& nodes, NodeId merge,
                                         const Gradient& arriving) const;
  Result<std::vector<Gradient>> of_switch(PlacedNodes& nodes, NodeId node,
                                          const std::vector<Gradient>& arriving) const;

  std::vector<Branch> branches_ = {Branch{}};
  using Decision = std::tuple<BranchId, Endpoint, int>;  // where, by what, between how many
  absl::flat_hash_map<Decision, BranchId> first_side_;   // the others follow
  std::vector<BranchId> of_node_;
};

}  // namespace millrace
