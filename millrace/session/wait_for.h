// WaitFor: makes a blocking call of an asynchronous one. The waiting thread lends itself to the work.
#pragma once

#include <optional>
#include <utility>

#include "millrace/base/done.h"
#include "millrace/base/runner.h"
#include "millrace/cluster/services.h"

namespace millrace {

// Owned by the thread that waits.
//
//   WaitFor<RunStepReply> wait;
//   master.run_step(std::move(request), wait.call(cancellation, deadline), wait.done());
//   Result<RunStepReply> reply = wait.get();
template <class T>
class WaitFor {
 public:
  Call call(Cancellation* cancellation = nullptr, std::optional<Clock::Time> deadline = {}) {
    return {.cancellation = cancellation, .runner = &caller_, .waiting = true, .deadline = deadline};
  }
  Done<T> done() {
    return Done<T>([this](Outcome<T> outcome) {
      outcome_.emplace(std::move(outcome));
      caller_.finish();
    });
  }
  Outcome<T> get() {
    caller_.wait();
    return *std::move(outcome_);
  }

 private:
  CallerThread caller_;
  std::optional<Outcome<T>> outcome_;
};

}  // namespace millrace
