// Colocation: which nodes must share a device, and what is asked of that device.
//
// Nodes start as groups of one. Edges that carry references or resources, and `_class` attributes,
// join groups (a union-find); with every join the device specifications of the two are merged. The
// rules are those of TensorFlow's placer, down to the words of the errors. Part of placement.
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/plan/device_set.h"
#include "millrace/plan/place.h"
#include "millrace/plan/spec_table.h"

namespace millrace {

// The device types that have a kernel for everything in a group.
enum class Support : uint8_t {
  cpu,
  any_type,  // of ops that we have no kernel for, where a remote task is asked for
};

// What is asked of the device of a group.
struct GroupNeeds {
  SpecId requested = SpecTable::kAnywhere;
  // The device of a variable or queue that the group shares; never given up for a request.
  SpecId resource = SpecTable::kAnywhere;
  Support support = Support::cpu;
  const Device* assigned = nullptr;  // must stay there: a stateful node was placed before
  const Device* before = nullptr;    // should stay there: where a node was placed before
};

class Colocation {
 public:
  // Errors: INVALID_ARGUMENT for a device that can't be parsed, an op without a kernel, groups
  // whose devices contradict each other.
  static Result<Colocation> create(const Graph& graph, const DeviceSet& devices,
                                   const PlaceOptions& options);

  NodeId root_of(NodeId node);
  const GroupNeeds& needs_of_root(NodeId root) const { return needs_[root]; }
  const SpecTable& specs() const { return specs_; }
  // What the node itself asks for.
  SpecId requested_by(NodeId node) const { return requested_[node]; }

 private:
  Colocation(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options);

  Status add_node(const Node& node);
  Result<Support> support_of(const Node& node, SpecId requested);
  // True if a specification names a job, and none of the devices it matches is the master's own.
  bool names_remote_task(SpecId requested);
  Status join_by_edges(const Node& consumer);
  Status check_edge(const Node& producer, const GroupNeeds& source, const Node& consumer,
                    GroupNeeds& target);
  Status join_by_names();
  // Merges the groups of two nodes; changes nothing on error.
  Status join(NodeId a, NodeId b);
  Result<GroupNeeds> merge(const GroupNeeds& a, const GroupNeeds& b);

  const Graph& graph_;
  const DeviceSet& devices_;
  const PlaceOptions options_;
  SpecTable specs_;
  std::vector<NodeId> parent_;
  std::vector<uint32_t> group_size_;
  std::vector<SpecId> requested_;                // by each node
  std::vector<GroupNeeds> needs_;                // of roots
  absl::flat_hash_map<SpecId, bool> is_remote_;  // answers of names_remote_task
};

}  // namespace millrace
