#include "millrace/op/transfer_slots.h"

#include <utility>

#include "millrace/op/kernel.h"
#include "millrace/op/transfer.h"

namespace millrace {

void TransferSlots::resize(uint32_t count) {
  slots_ = count > 0 ? std::make_unique<Slot[]>(count) : nullptr;
  size_ = count;
}

void TransferSlots::clear() {
  for (uint32_t i = 0; i < size_; ++i) {
    slots_[i].state.store(State::empty, std::memory_order_relaxed);
    slots_[i].value = {};
  }
}

void TransferSlots::answer(Slot& slot, Result<Delivery> result) {
  // The run may end in the answer, and the slot with it.
  Done<void> done = std::move(slot.done);
  done(take_delivery(*slot.context, std::move(result)));
}

void TransferSlots::send(uint32_t number, Delivery delivery) {
  Slot& slot = slots_[number];
  slot.value = std::move(delivery);
  if (slot.state.exchange(State::sent) != State::waiting) return;
  slot.state.store(State::taken);
  answer(slot, std::move(slot.value));
}

void TransferSlots::receive(uint32_t number, KernelContext& context, Done<void> done) {
  Slot& slot = slots_[number];
  if (slot.state.load() == State::empty) {
    slot.context = &context;
    slot.done = std::move(done);
    slot.since = clock_.now();
    State expected = State::empty;
    if (slot.state.compare_exchange_strong(expected, State::waiting)) {
      // An abort sets its mark before it looks for receivers, so one of the two sees the other.
      if (!is_aborted_.load()) return;
      expected = State::waiting;
      if (slot.state.compare_exchange_strong(expected, State::taken)) answer(slot, why_aborted());
      return;
    }
    done = std::move(slot.done);
  }
  slot.state.store(State::taken);
  done(take_delivery(context, std::move(slot.value)));
}

void TransferSlots::abort(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (is_aborted_.load()) return;
    aborted_ = why.ok() ? internal("transfers were aborted with OK") : why;
    is_aborted_.store(true);
  }
  const Status reason = why_aborted();
  // Whoever is answered last may end the run, and this with it.
  for (uint32_t i = 0, size = size_; i < size; ++i) {
    State expected = State::waiting;
    if (slots_[i].state.compare_exchange_strong(expected, State::taken)) answer(slots_[i], reason);
  }
}

Status TransferSlots::why_aborted() const {
  MutexLock lock(mutex_);
  return aborted_;
}

std::optional<Clock::Time> TransferSlots::waits_since(uint32_t slot) const {
  if (slots_[slot].state.load() != State::waiting) return std::nullopt;
  return slots_[slot].since;
}

}  // namespace millrace
