// Placement: every node of a session's graph gets a device, by TensorFlow's rules.
//
//   1. A node may run on devices of the types that its op has a kernel for. An op without a kernel
//      here may still run on another task that the node names: that task is trusted to have one.
//   2. Nodes joined by an edge that takes a reference or a resource share a device, that of the
//      producer; so do nodes with the same `loc:@name` in `_class`, and the node of that name.
//   3. What the nodes of such a group ask for is merged, part by part. Contradictions are errors;
//      with soft placement a contradicting type or id is dropped, and a contradicting `_class`.
//   4. Of the devices that match, the first in the order of DeviceSet is taken. If none matches,
//      soft placement drops the type and id asked for; job, replica and task always bind. A group
//      with something that other programs find by name (op/found_by_name.h) takes a device of the
//      first task of the job "ps", if one matches: programs of TensorFlow 1 count on that for
//      variables that name no task, which are to be the same for all workers.
//   5. Where rule 4 leaves a choice: a node without inputs goes where all its consumers are; Shape,
//      Size and Rank, and an Identity between two nodes that ask for the same device, where their
//      input is.
//   6. What is placed stays: when a graph grows, no node of it moves. A new node that has to share
//   a
//      device with placed ones goes where they are. Does it ask for another device, or have to
//      share one with placed ones elsewhere, state decides: it goes with what has state (a
//      variable, a queue, and what shares their device); what has none stays behind. Two groups
//      with state in two places are an error.
#pragma once

#include <memory>

#include "millrace/graph/graph.h"
#include "millrace/plan/device_set.h"

namespace millrace {

class Colocation;

struct PlaceOptions {
  bool allow_soft_placement = false;
};

// What placement knows of a graph that grows: the groups of nodes that share a device.
class Placement {
 public:
  Placement();
  ~Placement();
  Placement(Placement&&) noexcept;
  Placement& operator=(Placement&&) noexcept;

 private:
  friend Status place(Graph& graph, Placement& placement, const DeviceSet& devices,
                      const PlaceOptions& options);
  std::unique_ptr<Colocation> groups_;  // null before the first time
};

// Sets the devices of the nodes that `graph` has got since `placement` was made (all of them, if it
// is new); on error of none. Costs by how many they are. Devices and options are the same each
// time. Errors: INVALID_ARGUMENT, mostly "Cannot assign a device for operation …", naming the node,
// what it asked for, and the devices there are.
Status place(Graph& graph, Placement& placement, const DeviceSet& devices,
             const PlaceOptions& options);

}  // namespace millrace
