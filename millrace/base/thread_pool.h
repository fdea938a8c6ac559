// A fixed number of threads that run posted tasks in order of posting. Threads start with the first
// task, so an idle pool costs nothing. Tasks must not block on other tasks. They compute with
// denormals as zeros (flush_denormals.h).
#pragma once

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/runner.h"

namespace millrace {

class ThreadPool final : public Runner {
 public:
  // `threads` >= 1; 0 means one per processor. `name` shows in debuggers, 15 bytes at most. `log`
  // hears if the system refuses every thread; null: nobody. It outlives this.
  explicit ThreadPool(int threads = 0, std::string name = "millrace", const Log* log = nullptr);
  // Runs what was posted, then joins. Must not be called from a task of this pool.
  ~ThreadPool() override;

  // Starts the first thread now, so that there is one whatever happens later.
  // Errors: RESOURCE_EXHAUSTED if the system refuses it.
  Status start();
  // If the system refuses another thread, those that there are run the task.
  void post(Task task) override;
  int breadth() const override { return size_; }
  int size() const { return size_; }

 private:
  Status add_thread() MR_REQUIRES(mutex_);
  void work();

  const int size_;
  const std::string name_;
  const Log* const log_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Task> tasks_ MR_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ MR_GUARDED_BY(mutex_);
  int idle_ MR_GUARDED_BY(mutex_) = 0;
  bool closing_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
