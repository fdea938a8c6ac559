// PeerPulse: whether the process at the other end of a channel is alive, as far as its calls tell.
//
// A process that is frozen keeps its connections: the system goes on acknowledging what is sent to
// it. So calls that wait are looked at in rounds; if nothing is heard of the peer for a round it is
// asked something that it answers at once whatever its steps do, and if nothing is heard for the
// whole limit the waiting calls end with that cause, and further ones are refused, until it is
// heard of again. Calls that may wait for a peer to come up are left alone.
//
// Only peers that have promised to answer at once (promises.h) are judged: a TensorFlow
// server may compute for an hour and hear nobody meanwhile.
//
// Shared by a channel and its calls. Any thread may call.
#pragma once

#include <atomic>
#include <memory>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/mutex.h"
#include "millrace/transport/protocol/connection_error.h"
#include "millrace/transport/protocol/rounds.h"
#include "millrace/transport/protocol/silence.h"

namespace millrace::transport {

// A call that is to end if its peer falls silent.
class Overseen {
 public:
  virtual const Peer& peer() const = 0;
  // From the pulse that it has entered; any thread.
  virtual void give_up(Clock::Duration silence) = 0;

 protected:
  ~Overseen() = default;
};

class PeerPulse {
 public:
  explicit PeerPulse(std::shared_ptr<Rounds> rounds);

  void enter(Overseen& call);
  void leave(Overseen& call);
  // The peer has said something.
  void heard() {
    heard_.store(true, std::memory_order_relaxed);
    if (is_silent()) is_silent_.store(false, std::memory_order_relaxed);
    if (is_missed()) is_missed_.store(false, std::memory_order_relaxed);
  }
  // A call has ended without a word of the peer: no connection, or no time left.
  void missed() { is_missed_.store(true, std::memory_order_relaxed); }
  // True from then until the peer is heard of.
  bool is_missed() const { return is_missed_.load(std::memory_order_relaxed); }
  // Whether it promises to answer at once.
  void promises(bool promised) { promises_.store(promised, std::memory_order_relaxed); }

  // True while the peer is silent and calls to it are refused.
  bool is_silent() const { return is_silent_.load(std::memory_order_relaxed); }
  Clock::Duration limit() const { return rounds_->limit(); }

  // One round. Says whether the peer has to be asked now.
  Silence::Action visit();
  bool has_waiting_calls() const;
  bool was_heard() const { return heard_.load(std::memory_order_relaxed); }
  // Ends questions under way, once and for all.
  void stop() { stopping_.cancel(cancelled("nobody asks any more")); }
  Cancellation& stopping() { return stopping_; }

 private:
  void warn() MR_REQUIRES(mutex_);
  void give_up() MR_REQUIRES(mutex_);

  const std::shared_ptr<Rounds> rounds_;
  Cancellation stopping_;
  std::atomic<bool> promises_{false};
  std::atomic<bool> heard_{false};
  std::atomic<bool> is_silent_{false};
  std::atomic<bool> is_missed_{false};
  mutable Mutex mutex_;
  absl::flat_hash_set<Overseen*> calls_ MR_GUARDED_BY(mutex_);
  Silence silence_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
