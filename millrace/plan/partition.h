// Partitioning: a placed graph is cut where its edges go from one place to another.
//
// The master cuts by task, the worker cuts what it got by device. A cut edge becomes a _Send on the
// producer's device and a _Recv on the consumer's, one pair for all the consumers in one place:
//
//     a ──────────> b          a -> _Send      _Recv -> b
//     a ──(control)─> b        a -(control)-> Const -> _Send      _Recv -> Identity -(control)-> b
//
// An edge that reads a reference has a pair of its own, which waits for all the other inputs of the
// consumer, so that it reads as late as the consumer would have. Loops are prepared first by
// split_by_task: see control_loops.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/plan/fresh_names.h"

namespace millrace {

// The incarnation of a device, 0 if it is not known.
using IncarnationOf = std::function<uint64_t(std::string_view full_name)>;

struct Partition {
  std::string location;  // "/job:worker/replica:0/task:0", or the full name of a device
  Graph graph;
};

// In order of locations. Every node must be placed. A graph that is all in one place comes back as
// it is. New nodes are named by `names`. Errors: INVALID_ARGUMENT for a node that is not placed, a
// loop that can't be cut, a reference that would have to leave its task.
Result<std::vector<Partition>> split_by_task(Graph graph, const IncarnationOf& incarnation,
                                             FreshNames& names);
// Additionally, fills in incarnations of 0 of transfers that are there already, for devices that
// `incarnation` knows.
Result<std::vector<Partition>> split_by_device(Graph graph, const IncarnationOf& incarnation,
                                               FreshNames& names);

// Takes the device that a node asks for as the one it is placed on: how graphs arrive from a
// master. Errors: INVALID_ARGUMENT for a node whose device is not a full name.
Status take_requested_devices(Graph& graph);

}  // namespace millrace
