// StepTable: the steps of a worker that peers may take part in, with their rendezvous. The shell
// around StepBook, which decides. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/timers.h"
#include "millrace/worker/step_book.h"
#include "millrace/worker/step_rendezvous.h"

namespace millrace {

class StepTable {
 public:
  StepTable(const Clock& clock, Timers& timers, std::chrono::milliseconds abort_delay)
      : clock_(clock), timers_(timers), abort_delay_(abort_delay) {}
  // Aborts what is left.
  ~StepTable();

  // One reason why a step is kept; ended by the matching call.
  struct Visit {
    StepBook::Visit id;
    std::shared_ptr<StepRendezvous> rendezvous;
  };
  Visit run(int64_t step, const std::string& session);
  void run_ended(const Visit& visit);
  Visit peer(int64_t step);
  void peer_answered(const Visit& visit);
  void peer_gone(const Visit& visit);

  void cleanup(int64_t step);
  void close_session(const std::string& session);
  // Aborts and forgets every step.
  void clear(const Status& why);

  size_t size() const;

  struct Waits {
    int64_t step = 0;
    std::vector<LocalRendezvous::Wait> receives;
  };
  // What is waited for in each step that is known, in order of steps.
  std::vector<Waits> waits() const;

 private:
  struct Record {
    StepBook::Visit id;
    std::shared_ptr<StepRendezvous> rendezvous;
    Timers::Timer abort_timer;
  };
  // What is left to do once the lock is released: answers and ends of timers may come back here.
  struct Rest {
    std::vector<std::pair<std::shared_ptr<StepRendezvous>, Status>> aborts;
    std::vector<Record> dropped;
    void finish();
  };
  Rest perform(const StepBook::Actions& actions) MR_REQUIRES(mutex_);
  template <class Event>
  void apply(Event event);
  void abort_due(const StepBook::Visit& visit);

  const Clock& clock_;
  Timers& timers_;
  const std::chrono::milliseconds abort_delay_;
  mutable Mutex mutex_;
  StepBook book_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, Record> records_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
