// WaitFor: makes a blocking call of an asynchronous one. The waiting thread lends itself to the
// work.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"

#include "millrace/base/attentive_thread.h"
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
  explicit WaitFor(const Clock& clock, Interrupt* interrupt = nullptr) : clock_(clock) {
    if (interrupt != nullptr && interrupt->applies()) attentive_.emplace(caller_, *interrupt);
  }

  Call call(Cancellation* cancellation = nullptr, std::optional<Clock::Time> deadline = {}) {
    Call made{
        .cancellation = cancellation, .runner = &caller_, .waiting = true, .deadline = deadline};
    if (attentive_) {
      made.cancellation = attentive_->watch(cancellation);
      made.runner = &*attentive_;
    }
    return made;
  }
  Done<T> done() {
    return Done<T>([this](Outcome<T> outcome) {
      outcome_.emplace(std::move(outcome));
      caller_.finish();
    });
  }
  Outcome<T> get() {
    if (attentive_) wait_and_look({});
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
  // Asks an Interrupt, whose error ends the call.
  class Attentive final : public AttentiveThread {
   public:
    Attentive(CallerThread& thread, Interrupt& interrupt)
        : AttentiveThread(thread), interrupt_(interrupt) {}
    // What the call is to be cancelled by: by what we find, and by what the caller has.
    Cancellation* watch(Cancellation* callers) {
      if (callers != nullptr)
        forwarded_ = callers->on_cancel([this](const Status& why) { interrupted_.cancel(why); });
      return &interrupted_;
    }
    void look_up() override {
      if (is_interrupted_) return;
      Status why = interrupt_.ask();
      if (why.ok()) return;
      is_interrupted_ = true;
      interrupted_.cancel(std::move(why));
    }
    bool is_interrupted() const { return is_interrupted_; }

   private:
    Interrupt& interrupt_;
    bool is_interrupted_ = false;
    Cancellation interrupted_;
    Cancellation::Registration forwarded_;
  };

  // Until the call has ended, or has been told to.
  void wait_and_look(std::optional<absl::FunctionRef<void()>> remind) {
    Clock::Time remind_at = clock_.now() + std::chrono::seconds(1);
    while (!caller_.wait(clock_.now() + AttentiveThread::kLookEvery)) {
      if (remind && clock_.now() >= remind_at) {
        (*remind)();
        remind_at = clock_.now() + std::chrono::seconds(10);
      }
      if (!attentive_) continue;
      attentive_->look_up();
      if (attentive_->is_interrupted()) return;
    }
  }

  const Clock& clock_;
  CallerThread caller_;
  std::optional<Attentive> attentive_;
  std::optional<Outcome<T>> outcome_;
};

}  // namespace millrace
