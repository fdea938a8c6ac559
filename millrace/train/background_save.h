// BackgroundSave: a save that goes on while its program does, and its error for whoever waits.
#pragma once

#include <memory>

#include "absl/functional/any_invocable.h"

#include "millrace/base/mutex.h"
#include "millrace/base/runner.h"
#include "millrace/base/status.h"

namespace millrace {

// One save at a time. One thread starts and waits; the end of a BackgroundSave waits, too.
class BackgroundSave {
 public:
  BackgroundSave() = default;
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;
  ~BackgroundSave() { settle(); }

  // Calls `write` on a thread of `runner`, which may block, and wait for others' work. Waits for
  // the one before, whose error is gone then.
  void start(Runner& runner, absl::AnyInvocable<Status()> write);
  bool is_under_way() const;
  // Returns when none is under way; an error of it stays for wait().
  void settle();
  // The same, and gives the error, once.
  Status wait();

 private:
  struct State {
    Mutex mutex;
    Condition ended;
    bool is_under_way MR_GUARDED_BY(mutex) = false;
    Status result MR_GUARDED_BY(mutex);
  };
  // Held by who writes, too, which lets go of it last.
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace millrace
