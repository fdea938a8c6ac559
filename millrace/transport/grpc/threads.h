// GrpcThreads: the threads on which gRPC's sockets are read and calls are handled. A fixed number
// at most, however many peers there are.
//
// The thread that reads a request handles it then and there, and the answer to a call made
// meanwhile comes back on such a thread, too: waking another thread costs more than most calls.
// Normally one thread leads, that is, waits for events. If what an event set off takes longer than
// a moment, another thread takes the lead, so that a long step delays others by that moment only;
// the first one stands by when it comes back. Handlers may compute for long, but must not block.
//
// One per process is enough: give it to the server and to the directory. It outlives both; channels
// that live longer answer every call with UNAVAILABLE. Threads start with the first use.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

namespace transport {
class CompletionQueue;
}

class GrpcThreads {
 public:
  struct Options {
    // The most there will be. 0: two more than processors, so that computing handlers leave one.
    int max_threads = 0;
  };
  GrpcThreads();
  explicit GrpcThreads(Options options);
  // Waits for the calls that run. Not to be called from one of the threads.
  ~GrpcThreads();

  const std::shared_ptr<transport::CompletionQueue>& queue() const { return queue_; }
  // For tests and reports: how many have been started.
  int started() const;

 private:
  void work();
  void lead();
  bool take_lead();
  bool watch() MR_REQUIRES(mutex_);
  void summon_watcher();
  void start_thread() MR_REQUIRES(mutex_);

  const int max_threads_;
  const std::shared_ptr<transport::CompletionQueue> queue_;

  // Even while the leader waits for events, odd while it handles one. Who changes it leads.
  std::atomic<uint64_t> beat_{0};
  // True if somebody looks at beat_ now and then, or nobody is left who could.
  std::atomic<bool> watched_{false};

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<std::thread> threads_ MR_GUARDED_BY(mutex_);
  int standing_by_ MR_GUARDED_BY(mutex_) = 0;
  bool has_leader_ MR_GUARDED_BY(mutex_) = false;
  bool has_watcher_ MR_GUARDED_BY(mutex_) = false;
  bool summoned_ MR_GUARDED_BY(mutex_) = false;
  bool ended_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
