// TransferSlots: where the devices of one task hand values to each other in one run of a graph.
//
// What a rendezvous is to tasks, by number instead of by key. Whoever registers a graph knows both
// ends of such a transfer: outside of loops it carries one value in each run, so there is a place
// for it, and a step builds, hashes and keeps nothing. One send and one receive per slot and run;
// what else there is (loops, channels with several ends) goes through the rendezvous.
//
// Any thread may send, receive and abort; answers are given on the thread that brought the value or
// the abort, with no lock held. Slots are kept from run to run: `clear` empties them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "millrace/base/clock.h"
#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/op/rendezvous.h"

namespace millrace {

class KernelContext;

class TransferSlots {
 public:
  // `clock` tells since when a receiver waits.
  explicit TransferSlots(const Clock& clock) : clock_(clock) {}

  // Makes `count` empty slots. While nobody uses them.
  void resize(uint32_t count);
  // Empties them all, for the next run. While nobody uses them.
  void clear();
  uint32_t size() const { return size_; }

  // The slot's value; never waits.
  void send(uint32_t slot, Delivery delivery);
  // Gives the value to the node that `context` runs, as take_delivery() does, and calls `done`;
  // maybe inside this call. Both stay until then.
  void receive(uint32_t slot, KernelContext& context, Done<void> done);
  // Answers all receivers that wait and those that will come with `why`. The first reason stays.
  // For good: slots that were aborted are not used again.
  void abort(const Status& why);

  // Since when the receiver of a slot has waited; nullopt if none does.
  std::optional<Clock::Time> waits_since(uint32_t slot) const;

 private:
  //              send                receive
  //   empty ───────────────> sent ─────────────> taken
  //     │                     A
  //     │ receive             │ send: answers
  //     └────────> waiting ───┤
  //                           │ abort: answers
  //                           V
  //                         taken
  enum class State : uint8_t { empty, sent, waiting, taken };
  struct Slot {
    std::atomic<State> state = State::empty;
    Delivery value;                    // the sender's until sent, then the receiver's
    KernelContext* context = nullptr;  // the receiver's until it waits, then whoever answers it
    Done<void> done;
    Clock::Time since;
  };
  static void answer(Slot& slot, Result<Delivery> result);
  Status why_aborted() const;

  const Clock& clock_;
  std::unique_ptr<Slot[]> slots_;
  uint32_t size_ = 0;
  std::atomic<bool> is_aborted_ = false;

  mutable Mutex mutex_;
  Status aborted_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
