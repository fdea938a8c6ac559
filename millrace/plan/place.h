// Placement: every node of a session's graph gets a device, by TensorFlow's rules.
//
//   1. A node may run on devices of the types that its op has a kernel for. An op without a kernel
//      here may still run on another task that the node names: that task is trusted to have one.
//   2. Nodes joined by an edge that takes a reference or a resource share a device, that of the
//      producer; so do nodes with the same `loc:@name` in `_class`, and the node of that name.
//   3. What the nodes of such a group ask for is merged, part by part. Contradictions are errors;
//      with soft placement a contradicting type or id is dropped, and a contradicting `_class`.
//   4. Of the devices that match, the first in the order of DeviceSet is taken. If none matches,
//      soft placement drops the type and id asked for; job, replica and task always bind.
//   5. Where rule 4 leaves a choice: a node without inputs goes where all its consumers are; Shape,
//      Size and Rank, and an Identity between two nodes that ask for the same device, where their
//      input is.
//   6. Stateful nodes placed before stay; others placed before stay if they can.
#pragma once

#include "millrace/graph/graph.h"
#include "millrace/plan/device_set.h"

namespace millrace {

struct PlaceOptions {
  bool allow_soft_placement = false;
};

// Sets the device of every node of `graph`; on error of none.
// Errors: INVALID_ARGUMENT, mostly "Cannot assign a device for operation …", naming the node, what
// it asked for, and the devices there are.
Status place(Graph& graph, const DeviceSet& devices, const PlaceOptions& options);

}  // namespace millrace
