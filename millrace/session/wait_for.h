// WaitFor: makes a blocking call of an asynchronous one. The waiting thread lends itself to the
// work.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"

#include "millrace/base/done.h"
#include "millrace/base/runner.h"
#include "millrace/cluster/services.h"
#include "millrace/session/interrupt.h"

namespace millrace {

// Owned by the thread that waits.
//
//   WaitFor<RunStepReply> wait(clock, interrupt);
//   master.run_step(std::move(request), wait.call(cancellation, deadline), wait.done());
//   Result<RunStepReply> reply = wait.get();
template <class T>
class WaitFor {
 public:
  // `interrupt` may be null; it is asked while waiting if it applies to this thread.
  explicit WaitFor(const Clock& clock, Interrupt* interrupt = nullptr)
      : clock_(clock),
        interrupt_(interrupt != nullptr && interrupt->applies() ? interrupt : nullptr) {
    if (interrupt_ != nullptr) interrupted_.emplace();
  }

  Call call(Cancellation* cancellation = nullptr, std::optional<Clock::Time> deadline = {}) {
    if (interrupt_ == nullptr)
      return {
          .cancellation = cancellation, .runner = &caller_, .waiting = true, .deadline = deadline};
    if (cancellation != nullptr)
      forwarded_ =
          cancellation->on_cancel([this](const Status& why) { interrupted_->cancel(why); });
    // Not `waiting`: a thread that reads a socket could not ask.
    return {.cancellation = &*interrupted_, .runner = &caller_, .deadline = deadline};
  }
  Done<T> done() {
    return Done<T>([this](Outcome<T> outcome) {
      outcome_.emplace(std::move(outcome));
      caller_.finish();
    });
  }
  Outcome<T> get() {
    if (interrupt_ != nullptr) wait_and_look({});
    caller_.wait();
    return *std::move(outcome_);
  }
  // The same, and calls `remind` while it takes long: after a second, then every ten. For a call
  // that is not `waiting`: this thread is needed here.
  Outcome<T> get(absl::FunctionRef<void()> remind) {
    wait_and_look(remind);
    caller_.wait();
    return *std::move(outcome_);
  }

 private:
  // Until the call has ended, or has been told to.
  void wait_and_look(std::optional<absl::FunctionRef<void()>> remind) {
    constexpr std::chrono::milliseconds kLookEvery{100};
    Clock::Time remind_at = clock_.now() + std::chrono::seconds(1);
    while (!caller_.wait(clock_.now() + kLookEvery)) {
      if (remind && clock_.now() >= remind_at) {
        (*remind)();
        remind_at = clock_.now() + std::chrono::seconds(10);
      }
      if (interrupt_ == nullptr) continue;
      if (Status why = interrupt_->ask(); !why.ok()) {
        interrupted_->cancel(std::move(why));
        return;
      }
    }
  }

  const Clock& clock_;
  Interrupt* const interrupt_;
  CallerThread caller_;
  std::optional<Outcome<T>> outcome_;
  std::optional<Cancellation> interrupted_;
  Cancellation::Registration forwarded_;
};

}  // namespace millrace
