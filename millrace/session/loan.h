// Loan: an element that a queue has lent to this program, until it is acknowledged or given back.
//
//   LeasedDequeue names = leased_dequeue(root, queue, {DType::string});    // api/leased_dequeue.h
//   ...
//   MR_ASSIGN(auto loan, Loan::take(*session, names));
//   MR_TRY(loan->run({{count.name(), words_of(loan->element())}}, {}, {.targets = {add.name()}}));
//   MR_TRY(loan->acknowledge());
//
// Steps that are run by it are made under the lease: each update in them (assignments, scatters,
// enqueues, tables, optimizers) happens once for the element, also if an earlier attempt made it,
// or its answer was lost and it is tried again. Steps of the session itself are made as ever.
//
// Heartbeats extend the lease, each third of its time, as long as this lives and the session is
// open. A program that is stopped or cut off for longer than the lease loses it: the element goes
// to another taker. What is neither acknowledged nor given back is given back at the end of this.
//
// Any thread may call; the session and its runtime outlive this, and the graph is not added to
// while a step begins. docs/design/once.md tells what is guaranteed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/api/leased_dequeue.h"
#include "millrace/base/cancellation.h"
#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/base/timers.h"
#include "millrace/master/once_book.h"
#include "millrace/session/session.h"

namespace millrace {

class Loan {
 public:
  // Waits for an element, as a dequeue does. Errors: those of run(); OUT_OF_RANGE at the end of a
  // closed queue.
  static Result<std::unique_ptr<Loan>> take(Session& session, const LeasedDequeue& taken,
                                            RunArgs args = {});
  // Waits for a heartbeat under way, and for giving back, as long as a lease lasts at most.
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  // The element's tensors.
  const std::vector<Tensor>& element() const { return element_; }
  // How often it was lent, this time included.
  int attempt() const { return attempt_; }
  // Its bytes (ops/state/lease.h), for StepLease nodes of the program's own.
  const std::string& lease() const { return lease_; }
  // False once it was acknowledged, given back, or is known to be lost.
  bool is_held() const;

  // A step of the session, under the lease if it updates anything. One that failed keeps its name
  // for when the same feeds, fetches and targets are run again. Errors: those of Session::run;
  // FAILED_PRECONDITION if the element is not held any more.
  Result<std::vector<Tensor>> run(Session::Feeds feeds, std::vector<std::string> fetches,
                                  RunArgs args = {});
  // All is done: the element will not be lent again. Does nothing if it was acknowledged or given
  // back before. Errors: FAILED_PRECONDITION if the lease is lost, the element a dead letter, or
  // the session closed.
  Status acknowledge();
  // The element goes to the next taker at once. Does nothing if it is not held any more. Errors:
  // FAILED_PRECONDITION if the session is closed; the element has gone back then.
  Status give_back();

 private:
  enum class State : uint8_t { held, ending, ended, lost };

  Loan(Session& session, LeasedDequeue taken, std::vector<Tensor> element, int attempt,
       std::string lease);
  Status end_by(const Operation& operation);
  Status lost_error() const;
  void set_heartbeat() MR_REQUIRES(mutex_);
  void beat();
  void stop_heartbeats();

  Session& session_;
  const LeasedDequeue taken_;
  const std::vector<Tensor> element_;
  const int attempt_;
  const std::string lease_;
  const Host& host_;
  Cancellation ending_;  // of the heartbeat under way
  InFlight beats_;
  mutable Mutex mutex_;
  Condition changed_;  // what was ending has ended, or has not
  State state_ MR_GUARDED_BY(mutex_) = State::held;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;  // no more heartbeats
  OnceBook steps_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
