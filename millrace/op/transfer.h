// What kernels of transfer nodes (Send, Recv) have in common, whoever makes them.
#pragma once

#include "millrace/op/attrs.h"
#include "millrace/op/kernel.h"
#include "millrace/op/rendezvous.h"

namespace millrace {

// The key that the attributes of a transfer name, outside of loops. Errors: INVALID_ARGUMENT if one
// is missing or makes no key.
Result<RendezvousKey> transfer_key(const AttrView& attrs);

// The key of one transfer in each frame and iteration. Outside of loops it is made only once.
class TransferKey {
 public:
  explicit TransferKey(RendezvousKey key) : top_level_(std::move(key)) {}

  template <class Use>
  auto with(const FrameIteration& where, Use use) const {
    if (where.frame == 0 && where.iteration == 0) return use(std::string_view(top_level_.text));
    const RendezvousKey key = top_level_.in(where.frame, where.iteration);
    return use(std::string_view(key.text));
  }

 private:
  const RendezvousKey top_level_;
};

// Gives what a Recv was answered to those who wait for its output, or lets it be dead. Errors: the
// answer's; INVALID_ARGUMENT for a tensor of another type, which a peer may send that is wrong
// about the graph.
Status take_delivery(KernelContext& context, Result<Delivery> answer);

}  // namespace millrace
