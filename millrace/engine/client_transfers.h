// Feeds and fetches by slot: what stands for client-terminated `_Recv` and `_Send` nodes when
// values come with the step's arguments and go back with its results, instead of through its
// rendezvous. Private to this room, but for client_key().
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

// The step as feed kernels see it: what the executor hands to kernels is always one of these.
struct FedContext : StepContext {
  std::span<Tensor> own_feeds = {};  // of StepArgs
};

// Whether a feed kernel is the only one of its slot and runs once.
enum class FeedTakers : uint8_t { one, several };
// Gives out StepContext::feeds[slot]; the only taker takes it away if it may.
std::unique_ptr<Kernel> make_feed_kernel(size_t slot, std::string name, FeedTakers takers);
// Takes StepContext::fetches[slot].
std::unique_ptr<Kernel> make_fetch_kernel(size_t slot);

}  // namespace millrace
