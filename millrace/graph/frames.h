// Frames: which while loop each node belongs to.
//
// An Enter node moves a value into the frame that its attribute frame_name names; everything that
// depends on it runs in that frame, once per iteration, up to the Exit nodes. Loops nest. The frame
// of a node is a property of the graph alone, found here once for the passes that cut loops.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/graph.h"

namespace millrace {

struct Frame {
  std::string name;        // frame_name; empty for the root
  uint32_t parent = 0;     // its own index for the root
  NodeId enter = kNoNode;  // the first Enter that was met; none for the root
};

class FrameTable {
 public:
  static constexpr uint32_t kRoot = 0;

  // Errors: INVALID_ARGUMENT for a cycle that is no loop, an Enter without a frame name, a frame
  // entered from two different ones, a node whose inputs come from different frames, an Exit
  // outside of every loop.
  static Result<FrameTable> create(const Graph& graph);
  // The same for the nodes that `graph` has got since: a graph that grows need not be gone through
  // again. Older nodes must not have them as inputs. On error the table is unchanged.
  Status extend(const Graph& graph);
  // How many nodes the table covers, ids from 0.
  size_t size() const { return size_; }
  // Forgets the nodes from id `size` on; they must be all of one call of `extend`, or of several.
  void truncate(size_t size);

  bool has_loops() const { return frames_.size() > 1; }
  // The root comes first, parents before their children.
  std::span<const Frame> frames() const { return frames_; }
  // The frame that a node runs in. An Enter and an Exit run in the loop's frame.
  uint32_t of(NodeId node) const { return of_node_.empty() ? kRoot : of_node_[node]; }
  // The frame that its inputs are in: for an Enter the parent.
  uint32_t of_inputs(const Node& node) const {
    return node.op->role == Role::enter ? frames_[of(node.id)].parent : of(node.id);
  }
  // The frame that its outputs are in: for an Exit the parent.
  uint32_t of_outputs(const Node& node) const {
    return node.op->role == Role::exit ? frames_[of(node.id)].parent : of(node.id);
  }

 private:
  Status assign_from(const Graph& graph, NodeId first);
  Status assign(const Graph& graph, const Node& node);
  Result<uint32_t> enter(const Node& node, uint32_t parent);

  std::vector<Frame> frames_ = {Frame{}};
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  std::vector<uint32_t> of_node_;  // empty: all in the root
  size_t size_ = 0;
};

}  // namespace millrace
