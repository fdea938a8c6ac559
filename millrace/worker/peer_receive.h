// PeerReceive: a Recv from another task, as it is compiled when its graph is registered: it knows
// the key and has the peer in hand, so that a step looks nothing up.
#pragma once

#include <memory>

#include "millrace/graph/graph.h"
#include "millrace/op/kernel.h"
#include "millrace/worker/peer_fetcher.h"

namespace millrace {

// Null for every node that is not a Recv from another task, and if the task can't be reached: the
// kernel of the op then says so in the step that wants the value. The kernel runs only in steps
// whose rendezvous is a StepRendezvous.
std::unique_ptr<Kernel> peer_receive(const Node& node,
                                     const std::shared_ptr<const PeerFetcher>& fetcher);

}  // namespace millrace
