// ActiveRuns: the runs of one session that have not ended, so that they can be stopped and asked
// what they wait for. An intrusive list: entering and leaving cost no allocation. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/engine/waiting_nodes.h"

namespace millrace {

// One step that a worker runs, told for people.
struct StepWaits {
  int64_t step_id = 0;
  std::string session_handle, graph_handle;
  Clock::Duration age{};
  struct Receive {
    std::string key;
    Clock::Duration age{};
  };
  std::vector<Receive> receives;  // what it waits for from other devices and tasks
  // Nodes here that have begun and not answered, "take (QueueDequeueV2)": some, and how many.
  std::vector<std::string> nodes;
  size_t num_nodes = 0;

  // Enough of them for a line.
  void add_nodes(const WaitingNodes& waiting);
};

// "step 5 of session 12ab runs since 3.2 s, waits for x:0 from /job:ps/replica:0/task:0 (3.1 s), is
// in take (QueueDequeueV2)"
std::string to_text(const StepWaits& waits);

// Owned by shared pointers.
class ActiveRun : public std::enable_shared_from_this<ActiveRun> {
 public:
  ActiveRun() = default;
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;
  virtual ~ActiveRun() = default;

 protected:
  // Called from any thread, also after the run has left.
  virtual void stop(const Status& why) = 0;
  virtual StepWaits describe_waits(Clock::Time now) const = 0;

 private:
  friend class ActiveRuns;
  ActiveRun* previous_ = nullptr;
  ActiveRun* next_ = nullptr;
};

class ActiveRuns {
 public:
  // Errors: the reason of `close`.
  Status enter(ActiveRun& run);
  void leave(ActiveRun& run);
  // Stops what runs and lets nothing in any more. The first reason stays.
  void close(const Status& why);
  void describe_waits(Clock::Time now, std::vector<StepWaits>* all) const;

 private:
  // So that nothing is called with the lock held.
  std::vector<std::shared_ptr<ActiveRun>> all() const;

  mutable Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  ActiveRun* first_ MR_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace millrace
