// What a Session and its Callables share: the master, and how far the session there is up to date.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "millrace/base/cancellation.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/session/interrupt.h"
#include "millrace/session/runtime.h"

namespace millrace {

class RetriedMaster;  // retried_master.h

struct SessionState {
  const Clock& clock() const { return runtime->host().clock; }
  // Makes the session at the master if there is none, and sends new nodes; returns its handle. One
  // caller does it, others wait, at most until their deadline.
  Result<std::string> synchronise(Cancellation* cancellation, std::optional<Clock::Time> deadline);
  // When a call ends that may take `timeout`; 0: the session's own timeout.
  std::optional<Clock::Time> deadline(std::chrono::milliseconds timeout) const;
  // For a call whose master is told the timeout: it ends the call by itself and can say what it
  // waited for, so our own deadline is a little later, for a master that does not answer at all.
  static std::optional<Clock::Time> backstop(std::optional<Clock::Time> deadline);

  // Constant after construction.
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<MasterService> master;  // keeps alive what it needs
  RetriedMaster* retried = nullptr;       // that master, if the session makes steps again
  std::string target;
  SessionOptions options;
  std::shared_ptr<Interrupt> interrupt;  // null: nothing to look after while waiting

  Cancellation closing;  // of creating and extending

  Mutex mutex;
  Condition changed;
  bool is_busy MR_GUARDED_BY(mutex) = false;  // somebody creates or extends
  bool is_closed MR_GUARDED_BY(mutex) = false;
  std::string handle MR_GUARDED_BY(mutex);  // empty: not created yet
  int64_t graph_version MR_GUARDED_BY(mutex) = 0;
  bool has_unsent MR_GUARDED_BY(mutex) = false;
  wire::GraphDef unsent MR_GUARDED_BY(mutex);  // new nodes, and the whole function library
  // The builder that nodes come from, and how many have been taken over.
  const Graph* source MR_GUARDED_BY(mutex) = nullptr;
  size_t num_taken MR_GUARDED_BY(mutex) = 0;

 private:
  // Waits until nobody is busy. Errors: FAILED_PRECONDITION if closed; DEADLINE_EXCEEDED.
  Status wait_turn(std::optional<Clock::Time> until) MR_REQUIRES(mutex);
};

}  // namespace millrace
