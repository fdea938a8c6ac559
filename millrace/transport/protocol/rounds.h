// Rounds: visits channels at intervals as long as calls wait on any of them.
//
// One for all channels that live together, so that however many peers keep a process waiting, it
// wakes once per interval for all of them; if no call waits it does not wake at all. Shared by
// those channels, which may live longer than the timers: stop() ends it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"

namespace millrace::transport {

// Who is visited.
class Visited {
 public:
  virtual ~Visited() = default;
  // On the thread of the timers: must not block.
  virtual void visit() = 0;
  // True if visits are needed.
  virtual bool has_waiting_calls() const = 0;
  // No visit comes any more.
  virtual void end_visits() = 0;
};

class Rounds {
 public:
  // With a limit of 0 there are no rounds. `host` must live until stop().
  Rounds(const Host& host, Clock::Duration limit) : host_(host), limit_(limit) {}
  const Host& host() const { return host_; }
  // For who is visited, during the visit.
  const Log& log() const { return host_.log; }
  // After how much silence a peer is given up.
  Clock::Duration limit() const { return limit_; }

  void add(const std::shared_ptr<Visited>& visited);
  // A call waits now. Cheap if rounds go on already.
  void wake();
  // Not on the thread of the timers.
  void stop();

 private:
  using Everybody = std::vector<std::shared_ptr<Visited>>;
  void go_round();
  void go_round_later();
  Everybody everybody();

  const Host host_;
  const Clock::Duration limit_;
  std::atomic<bool> awake_{false};
  Mutex mutex_;
  std::vector<std::weak_ptr<Visited>> visited_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
  bool is_stopped_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::transport
