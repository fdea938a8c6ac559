// Feeds and fetches by slot: what stands for client-terminated `_Recv` and `_Send` nodes when
// values come with the step's arguments and go back with its results, instead of through its
// rendezvous. Private to this room.
#pragma once

#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/graph/graph.h"
#include "millrace/op/kernel.h"

namespace millrace {

// The rendezvous key of a transfer that the client terminates: one from a device to itself. Empty
// for every other node. Errors: INVALID_ARGUMENT if attributes of a transfer are missing.
Result<std::string> client_key(const Node& node);

// Gives out StepContext::feeds[slot].
std::unique_ptr<Kernel> make_feed_kernel(size_t slot, std::string name);
// Takes StepContext::fetches[slot].
std::unique_ptr<Kernel> make_fetch_kernel(size_t slot);

}  // namespace millrace
