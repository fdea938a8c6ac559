// The while loops of a graph, as Enter, Merge, Switch, NextIteration and Exit make them: what a
// gradient that goes through one must know of it.
//
// Found from the nodes alone, so it holds for imported graphs too. A loop's variable enters by a
// Merge, goes on to an iteration or out by a Switch that the loop's LoopCond decides, and comes
// back by a NextIteration. What enters otherwise is the same in each iteration.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/frames.h"
#include "millrace/graph/graph.h"

namespace millrace {

struct LoopVariable {
  NodeId enter = kNoNode, merge = kNoNode, next = kNoNode;
  NodeId switch_ = kNoNode;  // none of a variable that only the condition reads
  int enter_slot = 0;        // of the Merge
};

struct Loop {
  NodeId cond = kNoNode;  // its LoopCond
  std::vector<LoopVariable> variables;
  // Its NextIterations, and the pushes in it or in loops in it that are popped elsewhere: going
  // backwards, all that leaves the loop is met before any of them.
  std::vector<NodeId> ends;
};

class Loops {
 public:
  // Of the nodes that `graph` has now. Errors: those of FrameTable::create().
  static Result<Loops> of(const Graph& graph);

  const FrameTable& frames() const { return frames_; }
  const Loop& loop(uint32_t frame) const { return loops_[frame]; }
  // The variable that a Merge heads; null for other nodes.
  const LoopVariable* headed_by(NodeId merge) const;
  // True for a Switch between the next iteration and the loop's end.
  bool ends_iteration(const Graph& graph, const Node& node) const;
  // The StackPushV2 nodes that put there what a StackPopV2 takes: values go by another way than
  // edges where a loop is a gradient itself. Empty for other nodes.
  std::span<const NodeId> pushes_of(NodeId pop) const;
  // The pops that take what a push puts there.
  std::span<const NodeId> pops_of(NodeId push) const;
  // The ends of the loops that what leaves them by a node, an Exit or a pop, comes from.
  std::vector<NodeId> ends_behind(const Node& node) const;
  // True if `frame` is `outer`, or inside of it.
  bool is_inside(uint32_t frame, uint32_t outer) const;

 private:
  void note(const Graph& graph, const Node& node);
  void note_stacks(const Graph& graph);

  FrameTable frames_;
  std::vector<Loop> loops_;  // by frame
  absl::flat_hash_map<NodeId, std::pair<uint32_t, size_t>> by_merge_;
  absl::flat_hash_map<NodeId, std::vector<NodeId>> pushes_, pops_;
};

// What a value was before ops that only pass it on.
Endpoint behind_identities(const Graph& graph, Endpoint value);

}  // namespace millrace
