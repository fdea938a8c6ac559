// Timers: calls back at a time. What code that has to wait without a thread is given; like Clock it
// is an argument, and the two of one Host tell the same time.
//
// Implementations are TimerQueue (timer.h: the machine's clock, one thread) and those of tests,
// whose time stands still until they move it. A handle works alike for all of them.
#pragma once

#include <cstdint>
#include <utility>

#include "millrace/base/clock.h"
#include "millrace/base/runner.h"

namespace millrace {

class Timers {
 public:
  // Which timer: by time, then in the order in which they were asked for. Ids are never 0.
  struct Key {
    Clock::Time when;
    uint64_t id = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // Cancels its timer when destroyed, waiting for the callback if it is running on another thread.
  // Must not outlive the Timers that it comes from.
  class [[nodiscard]] Timer {
   public:
    Timer() = default;
    Timer(Timer&& other) noexcept
        : timers_(std::exchange(other.timers_, nullptr)), key_(other.key_) {}
    Timer& operator=(Timer&& other) noexcept {
      if (this == &other) return *this;
      cancel();
      timers_ = std::exchange(other.timers_, nullptr);
      key_ = other.key_;
      return *this;
    }
    ~Timer() { cancel(); }
    void cancel() {
      if (Timers* timers = std::exchange(timers_, nullptr)) timers->cancel(key_);
    }

   private:
    friend class Timers;
    Timer(Timers* timers, Key key) : timers_(timers), key_(key) {}
    Timers* timers_ = nullptr;
    Key key_{};
  };

  virtual ~Timers() = default;

  // Runs `task` at `when` or soon after, never inside this call. It must not block. Any thread may
  // call.
  virtual Timer at(Clock::Time when, Task task) = 0;

 protected:
  Timer handle(Key key) { return Timer(this, key); }
  // Forgets the timer, which may have fired already. If its task is running on another thread it
  // returns when that has ended; a task that cancels its own timer does not wait for itself.
  virtual void cancel(const Key& key) = 0;
};

}  // namespace millrace
