// What a master is given when it is made, and what all of its parts share.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "millrace/base/cancellation.h"
#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/departures.h"
#include "millrace/cluster/member_workers.h"
#include "millrace/cluster/services.h"
#include "millrace/cluster/task_report.h"
#include "millrace/master/left_sessions.h"
#include "millrace/master/open_waits.h"
#include "millrace/op/registry.h"

namespace millrace {

struct MasterOptions {
  TaskName own_task;
  std::shared_ptr<Members> members;  // who there is besides; has own_task, and where it is
  // All outlive the master.
  const OpRegistry& ops;
  Host host;
  WorkerDirectory& workers;          // reaches every task, the own one by pointer
  Departures* departures = nullptr;  // who has ended; null: nobody keeps that
  // Who answers describe(); null: nobody. Outlives the master.
  const Inspected* task = nullptr;
  std::shared_ptr<TaskReport> report = nullptr;  // where it tells what it waits for
  SessionOptions defaults = {};
  // How many steps a session keeps planned and registered, and of how many callables; the least
  // recently used goes first, is let go at the workers, and is made anew when somebody comes back
  // to it. Python keeps 1,024 per session.
  size_t kept_steps = 2'000;
  // The most callables of a session that nobody has released.
  size_t most_callables = 100'000;
  // The most partial runs of a session that have not ended: each keeps its step planned.
  size_t most_partial_runs = 10'000;
  // How often a call that waits for tasks says which ones are still missing.
  std::chrono::milliseconds reminder_interval{10'000};
  // The most that a call may take whose answer nobody needs (cleaning up after a step or a
  // session). Shorter than a client waits for its session to close: one task that hangs must not
  // make an error of it.
  std::chrono::milliseconds cleanup_timeout{5'000};
  // How long a step that has been cancelled waits for its parts before the client is answered
  // without them. What waits or looks answers within milliseconds; a kernel that does not look may
  // take any time. Less than a second, by which a client of ours outwaits its master.
  std::chrono::milliseconds parts_patience{500};
};

// What the parts of one master refer to. The master owns it and outlives all that is counted by
// `in_flight`.
struct MasterContext {
  explicit MasterContext(MasterOptions given);

  // Globally unique, below 2^57, never 0.
  int64_t next_step_id();
  int64_t next_request_id() { return static_cast<int64_t>(options.host.random.next()); }
  // For calls whose answer nobody needs.
  Call cleanup_call();
  const Host& host() const { return options.host; }
  Clock::Time now() const { return host().clock.now(); }

  // True for a task that has ended well, as far as this master knows.
  bool has_ended(const TaskName& task) const {
    return (options.departures != nullptr && options.departures->has(task)) ||
           options.members->has_ended(task);
  }
  // Errors: those of WorkerDirectory and MemberWorkers.
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& member);

  const MasterOptions options;
  // By which the directory knows the own task, whatever others are told later.
  const std::string own_address;
  MemberWorkers workers;  // those of the others
  InFlight in_flight;
  LeftSessions left_sessions;
  OpenWaits waits;
  Cancellation stopping;  // cancelled when the master stops

 private:
  const uint64_t step_seed_;
  std::atomic<uint64_t> steps_{0};
};

}  // namespace millrace
