// Cancellation: tells everybody who works on one thing (a step, a call) that it is over, and why.
//
// It is cancelled at most once; the first reason stays. Whoever waits registers a callback and
// keeps the Registration as long as it wants to hear. All members may be called from any thread.
//
//   auto registration = cancellation.on_cancel([&](const Status& why) { give_up(why); });
//
// A callback runs on the cancelling thread, or at once on the registering thread when the
// cancellation already happened. Destroying a Registration waits for its callback if that is
// running on another thread, so what the callback refers to may go right after. Callbacks must not
// block, and must not destroy other registrations of the same cancellation.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"

#include "millrace/base/mutex.h"
#include "millrace/base/status.h"

namespace millrace {

class Cancellation {
 public:
  using Callback = absl::AnyInvocable<void(const Status&)>;

  class [[nodiscard]] Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), id_(other.id_) {}
    Registration& operator=(Registration&& other) noexcept {
      if (this == &other) return *this;
      release();
      owner_ = std::exchange(other.owner_, nullptr);
      id_ = other.id_;
      return *this;
    }
    ~Registration() { release(); }
    // Forgets the callback, waiting for it if it is running on another thread.
    void release();

   private:
    friend class Cancellation;
    Registration(Cancellation* owner, uint64_t id) : owner_(owner), id_(id) {}
    Cancellation* owner_ = nullptr;
    uint64_t id_ = 0;
  };

  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Cancels with the error `why` (OK becomes CANCELLED). Later calls do nothing.
  void cancel(Status why);
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  // The reason; OK while not cancelled.
  Status reason() const;
  // The cancellation must outlive the registration.
  Registration on_cancel(Callback callback);

 private:
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  Condition callback_finished_;
  Status reason_ MR_GUARDED_BY(mutex_);
  uint64_t next_id_ MR_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Callback> callbacks_ MR_GUARDED_BY(mutex_);
  uint64_t running_id_ MR_GUARDED_BY(mutex_) = 0;
  std::thread::id running_on_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
