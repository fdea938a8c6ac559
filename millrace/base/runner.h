// Runner: where a piece of work that has become ready is to run.
//
// A step asks its runner for a thread only when it can't go on by itself: after a wait, or to share
// work. Runners are ThreadPool (any pool thread) and CallerThread (the thread that waits for the
// step runs it).
#pragma once

#include <deque>
#include <optional>

#include "absl/functional/any_invocable.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace {

using Task = absl::AnyInvocable<void()>;

class Runner {
 public:
  virtual ~Runner() = default;
  // Runs `task` soon on some thread, never inside this call. Any thread may call.
  virtual void post(Task task) = 0;
  // How many tasks may run at once, at least: for those who choose how much they share out.
  virtual int breadth() const { return 1; }
};

// The waiting thread as a runner: work posted while `wait` is blocked runs on the thread that
// waits.
//
//   CallerThread caller;
//   start(..., caller, [&] { caller.finish(); });
//   caller.wait();
//
// Owned by the waiting thread. Whoever starts work on it promises to post nothing after `finish`;
// the executor keeps that promise by finishing a step only when none of its work is left.
class CallerThread final : public Runner {
 public:
  void post(Task task) override;
  // Makes `wait` return once the tasks posted before have run. Any thread, once.
  void finish();
  // Runs posted tasks until `finish`. False if `deadline` passed first; may be called again.
  bool wait(std::optional<Clock::Time> deadline = std::nullopt);

 private:
  Mutex mutex_;
  Condition changed_;
  std::deque<Task> tasks_ MR_GUARDED_BY(mutex_);
  bool finished_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
