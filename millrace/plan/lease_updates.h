// Making the updates of a step under a lease, where the step asks for it.
//
// It asks by running a StepLease node, which gets the lease. On each task where the step updates
// state, a _HoldLease node gets the same lease and goes before all updates there, which are marked
// (op/once_factory.h). If the lease came with a feed, it comes with that feed on each of those
// tasks.
//
//   before:  recv -> StepLease   AssignAdd
//   after:   recv' -> _HoldLease -(control)-> AssignAdd [_under_lease=before]
//
// The StepLease has done its duty then, and goes unless somebody wants what it gives.
//
// A StepLease that takes turns the step's dequeue into a QueueLend, which is given the lease and
// gives the next one; that is what StepLease then gets, and what updates that depend on the dequeue
// are made under ("after"). Others stay under the first, and the QueueLend, which acknowledges
// that, waits for them; but not for those in a conditional's branch, which may not be taken.
#pragma once

#include "millrace/plan/device_set.h"
#include "millrace/plan/step_graph.h"

namespace millrace {

// Does nothing to a step without a StepLease. Errors: INVALID_ARGUMENT for several of them;
// UNIMPLEMENTED for an update inside of a while loop, and, if it takes, for a dequeue of many, of
// the form of before TensorFlow 1.0, or more than one.
Status lease_updates(StepGraph& step, const DeviceSet& devices);

}  // namespace millrace
