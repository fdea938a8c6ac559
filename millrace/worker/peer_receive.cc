#include "millrace/worker/peer_receive.h"

#include <utility>

#include "millrace/op/transfer.h"
#include "millrace/worker/step_rendezvous.h"

namespace millrace {
namespace {

class PeerReceive final : public Kernel {
 public:
  PeerReceive(RendezvousKey key, std::shared_ptr<const PeerFetcher> fetcher,
              std::shared_ptr<WorkerService> peer)
      : key_(std::move(key)), fetcher_(std::move(fetcher)), peer_(std::move(peer)) {}

  bool is_async() const override { return true; }

  void start(KernelContext& context, Done<void> done) override {
    auto& rendezvous = static_cast<StepRendezvous&>(*context.step().rendezvous);
    key_.with(context.where(), [&](std::string_view key) {
      rendezvous.fetch(
          *fetcher_, *peer_, key, context.step().cancellation,
          Done<Delivery>([&context, done = std::move(done)](Result<Delivery> answer) mutable {
            done(take_delivery(context, std::move(answer)));
          }));
    });
  }

 private:
  const TransferKey key_;
  const std::shared_ptr<const PeerFetcher> fetcher_;
  const std::shared_ptr<WorkerService> peer_;
};

}  // namespace

std::unique_ptr<Kernel> peer_receive(const Node& node,
                                     const std::shared_ptr<const PeerFetcher>& fetcher) {
  if (node.op->role != Role::receive) return nullptr;
  auto key = transfer_key(node.attr_view());
  if (!key.ok() || fetcher->is_local(key->text)) return nullptr;
  auto peer = fetcher->peer_of(key->text);
  if (!peer.ok()) return nullptr;
  return std::make_unique<PeerReceive>(*std::move(key), fetcher, *std::move(peer));
}

}  // namespace millrace
