// Colocation: which nodes must share a device, and what is asked of that device.
//
// Nodes start as groups of one. Edges that carry references or resources, and `_class` attributes,
// join groups (a union-find); with every join the device specifications of the two are merged. The
// rules are those of TensorFlow's placer, down to the words of the errors.
//
// The groups grow with the graph. A group that has a device keeps it: see rule 6 in place.h. Part
// of placement.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/plan/candidates.h"
#include "millrace/plan/device_set.h"
#include "millrace/plan/place.h"
#include "millrace/plan/spec_table.h"

namespace millrace {

class Colocation {
 public:
  explicit Colocation(const PlaceOptions& options)
      : specs_(options.allow_soft_placement ? TypeConflict::clear : TypeConflict::refuse) {}

  // How many nodes are in groups, ids from 0.
  size_t size() const { return parent_.size(); }
  // Puts the nodes into groups that `graph` has got since. On error the groups are as before.
  // Errors: INVALID_ARGUMENT for a device that can't be parsed, an op without a kernel, groups
  // whose devices contradict each other.
  Status extend(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options);
  // Takes the last `extend` back, and what was settled since.
  void undo();

  NodeId root_of(NodeId node);
  const GroupNeeds& needs_of_root(NodeId root) const { return needs_[root]; }
  // Gives a group its device.
  void settle(NodeId root, uint32_t device);
  const SpecTable& specs() const { return specs_; }
  SpecTable& specs() { return specs_; }

 private:
  friend class Joining;
  // Changes of nodes that were there before are written down, to be undone.
  void set_parent(NodeId node, NodeId parent);
  void set_needs(NodeId root, const GroupNeeds& needs);

  SpecTable specs_;
  std::vector<NodeId> parent_;
  std::vector<GroupNeeds> needs_;                // of roots
  absl::flat_hash_map<SpecId, bool> is_remote_;  // specifications that the master's task can't meet
  // Of `_class` names that no node had: somebody in the group.
  absl::flat_hash_map<std::string, NodeId> of_absent_;

  // The last extension: its first node, and what there was before.
  size_t first_ = 0;
  SpecTable::Mark known_specs_;
  std::vector<std::pair<NodeId, NodeId>> old_parents_;
  std::vector<std::pair<NodeId, GroupNeeds>> old_needs_;
};

}  // namespace millrace
