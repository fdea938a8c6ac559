#include "millrace/worker/slot_transfer.h"

#include <algorithm>
#include <utility>

#include "millrace/op/transfer.h"
#include "millrace/op/transfer_slots.h"

namespace millrace {
namespace {

bool is_outside_loops(const FrameIteration& where) {
  return where.frame == 0 && where.iteration == 0;
}

class SlotSend final : public Kernel {
 public:
  SlotSend(RendezvousKey key, uint32_t slot) : key_(std::move(key)), slot_(slot) {}

  Status run(KernelContext& context) override {
    StepContext& step = context.step();
    const bool is_dead = context.input_is_dead();
    Delivery delivery{is_dead ? Tensor() : context.take_input(0), is_dead};
    if (is_outside_loops(context.where())) {
      step.slots->send(slot_, std::move(delivery));
      return {};
    }
    return key_.with(context.where(), [&](std::string_view key) {
      return step.rendezvous->send(key, std::move(delivery));
    });
  }

 private:
  const TransferKey key_;
  const uint32_t slot_;
};

class SlotReceive final : public Kernel {
 public:
  SlotReceive(RendezvousKey key, uint32_t slot) : key_(std::move(key)), slot_(slot) {}

  bool is_async() const override { return true; }

  void start(KernelContext& context, Done<void> done) override {
    StepContext& step = context.step();
    if (is_outside_loops(context.where()))
      return step.slots->receive(slot_, context, std::move(done));
    key_.with(context.where(), [&](std::string_view key) {
      step.rendezvous->receive(
          key, step.cancellation,
          Done<Delivery>([&context, done = std::move(done)](Result<Delivery> answer) mutable {
            done(take_delivery(context, std::move(answer)));
          }));
    });
  }

 private:
  const TransferKey key_;
  const uint32_t slot_;
};

// The key of a node that sends or receives within the cluster; empty for any other.
std::string channel_of(const Node& node) {
  if (node.op->role != Role::send && node.op->role != Role::receive) return {};
  const AttrView attrs = node.attr_view();
  const auto is_clients = attrs.boolean("client_terminated");
  if (is_clients.ok() && *is_clients) return {};
  auto key = transfer_key(attrs);
  return key.ok() ? std::move(key->text) : std::string();
}

}  // namespace

SlotNumbers::SlotNumbers(std::span<const Graph* const> pieces) {
  struct Ends {
    int sends = 0, receives = 0;
  };
  absl::flat_hash_map<std::string, Ends> ends;
  for (const Graph* piece : pieces) {
    for (const Node& node : piece->nodes()) {
      std::string key = channel_of(node);
      if (key.empty()) continue;
      Ends& channel = ends[std::move(key)];
      ++(node.op->role == Role::send ? channel.sends : channel.receives);
    }
  }
  for (const auto& [key, channel] : ends)
    if (channel.sends == 1 && channel.receives == 1) keys_.push_back(key);
  // A run that is repeated is to go the same way.
  std::ranges::sort(keys_);
  for (uint32_t i = 0; i < keys_.size(); ++i) numbers_.emplace(keys_[i], i);
}

std::unique_ptr<Kernel> SlotNumbers::transfer(const Node& node) const {
  if (numbers_.empty()) return nullptr;
  const auto found = numbers_.find(channel_of(node));
  if (found == numbers_.end()) return nullptr;
  RendezvousKey key{found->first};
  if (node.op->role == Role::send) return std::make_unique<SlotSend>(std::move(key), found->second);
  return std::make_unique<SlotReceive>(std::move(key), found->second);
}

}  // namespace millrace
