// Awaited<State>: state behind a lock, and attempts that wait, without a thread, until the state
// lets them through. What most resources that steps wait on are made of.
//
//   Awaited<Sum> sum_;
//   sum_.attempt([](Sum& sum) -> std::optional<Status> {
//     if (sum.count < wanted) return std::nullopt;     // not yet: nothing may be changed
//     …                                               // take it
//     return Status();
//   }, context.step().cancellation, cancelled("…"), std::move(done));
//   sum_.change([&](Sum& sum) { sum.count += 1; });    // and those who wait look again
//
// An attempt is tried at once, and again after each change until it answers. A cancellation or
// close() ends it. Answers run without the lock, on the thread that settled them. Thread-safe; the
// owner must stay alive while somebody waits.
//
// Not for queues: their attempts stand in two lines, get on one element at a time and give back
// what they took, which are rules of their own (queue_core.h, carried by queue.h).
#pragma once

#include <list>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/mutex.h"

namespace millrace {

// Whether who came later may be served before one who still waits.
enum class Turns : uint8_t { in_order, any };

template <class State>
class Awaited {
 public:
  using Attempt = absl::AnyInvocable<std::optional<Status>(State&)>;

  template <class... Args>
  explicit Awaited(Turns turns, Args&&... args)
      : turns_(turns), state_(std::forward<Args>(args)...) {}

  void attempt(Attempt attempt, Cancellation* cancellation, Status if_cancelled, Done<void> done) {
    if (std::optional<Settled> settled = at_once(attempt, done)) return answer(*std::move(settled));
    uint64_t ticket = 0;
    {
      MutexLock lock(mutex_);
      ticket = next_ticket_++;
    }
    // The cancellation hears of it first: once the attempt is in line it may be answered at any
    // moment, and the cancellation may be gone right after. Not under the lock: what was
    // cancelled already calls back from inside on_cancel.
    Cancellation::Registration registration;
    if (cancellation != nullptr) {
      registration = cancellation->on_cancel(
          [this, ticket, if_cancelled](const Status&) { cancel(ticket, if_cancelled); });
    }
    Settled settled;
    {
      MutexLock lock(mutex_);
      waiting_.push_back({ticket, std::move(attempt), std::move(registration), std::move(done)});
      serve(settled);
      // A callback that came before found nothing to cancel.
      if (cancellation != nullptr && cancellation->cancelled()) end(ticket, if_cancelled, settled);
    }
    answer(std::move(settled));
  }

  // What change(State&) returns; then those who wait look again.
  template <class Change>
  auto change(Change change) {
    Settled settled;
    auto result = [&] {
      MutexLock lock(mutex_);
      auto made = change(state_);
      if (!waiting_.empty()) serve(settled);
      return made;
    }();
    if (!settled.empty()) answer(std::move(settled));
    return result;
  }

  // What look(const State&) returns.
  template <class Look>
  auto look(Look look) const {
    MutexLock lock(mutex_);
    return look(state_);
  }

  // Ends all attempts, those to come as well, with `why`.
  void close(const Status& why) {
    Settled settled;
    {
      MutexLock lock(mutex_);
      if (closed_.ok()) closed_ = why;
      serve(settled);
    }
    answer(std::move(settled));
  }

 private:
  struct Waiter {
    uint64_t ticket;
    Attempt attempt;
    Cancellation::Registration registration;
    Done<void> done;
  };
  struct Answered {
    Cancellation::Registration registration;
    Done<void> done;
    Status outcome;
  };
  using Settled = absl::InlinedVector<Answered, 1>;

  std::optional<Status> try_first(Attempt& attempt) MR_REQUIRES(mutex_) {
    if (!closed_.ok()) return closed_;
    if (turns_ == Turns::in_order && !waiting_.empty()) return std::nullopt;
    return attempt(state_);
  }

  // Takes `done` and gives its answer, with those that this one made possible, if the attempt need
  // not wait.
  std::optional<Settled> at_once(Attempt& attempt, Done<void>& done) {
    MutexLock lock(mutex_);
    std::optional<Status> outcome = try_first(attempt);
    if (!outcome) return std::nullopt;
    Settled settled;
    settled.push_back({{}, std::move(done), *std::move(outcome)});
    serve(settled);
    return settled;
  }

  // Each one that gets through may be what another waits for: from the start then.
  void serve(Settled& settled) MR_REQUIRES(mutex_) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      std::optional<Status> outcome = closed_.ok() ? it->attempt(state_) : closed_;
      if (outcome) {
        settle(it, *std::move(outcome), settled);
        it = waiting_.begin();
      } else if (turns_ == Turns::in_order) {
        return;
      } else {
        ++it;
      }
    }
  }

  void settle(typename std::list<Waiter>::iterator it, Status outcome, Settled& settled)
      MR_REQUIRES(mutex_) {
    settled.push_back({std::move(it->registration), std::move(it->done), std::move(outcome)});
    waiting_.erase(it);
  }

  void end(uint64_t ticket, const Status& why, Settled& settled) MR_REQUIRES(mutex_) {
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (it->ticket != ticket) continue;
      settle(it, why, settled);
      return serve(settled);  // who stood behind it may go on
    }
  }

  void cancel(uint64_t ticket, const Status& why) {
    Settled settled;
    {
      MutexLock lock(mutex_);
      end(ticket, why, settled);
    }
    answer(std::move(settled));
  }

  static void answer(Settled settled) {
    for (Answered& each : settled) {
      // Before the answer: what waits may destroy its cancellation once it has it.
      each.registration.release();
      each.done(std::move(each.outcome));
    }
  }

  const Turns turns_;
  mutable Mutex mutex_;
  State state_ MR_GUARDED_BY(mutex_);
  Status closed_ MR_GUARDED_BY(mutex_);
  uint64_t next_ticket_ MR_GUARDED_BY(mutex_) = 1;
  std::list<Waiter> waiting_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
