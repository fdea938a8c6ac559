// GrpcThreads: the threads on which gRPC's sockets are read and calls are handled. A fixed number
// at most, however many peers there are.
//
// The thread that reads a request handles it then and there, and the answer to a call made
// meanwhile comes back on such a thread, too: waking another thread costs more than most calls.
// One thread leads, that is, waits for events. If what an event set off takes longer than a moment,
// the watcher takes the lead, which an alarm has woken, so that a long step delays others by that
// moment only; the first one watches or stands by when it comes back. While nothing happens nobody
// wakes.
//
// Somebody always reads: a leader without a watcher, because all other threads compute, handles
// what ends by itself and puts what may run kernels in line, for the first thread that comes back.
// So cancellations, questions and the ends of sessions get through whatever the steps do. Handlers
// may compute for long, but must not block.
//
// One per process is enough: give it to the server and to the directory. It outlives both; channels
// that live longer answer every call with UNAVAILABLE. Threads start with the first use.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/transport/grpc/alarm.h"

namespace millrace {

namespace transport {
class CompletionQueue;
class Event;
}  // namespace transport

class GrpcThreads {
 public:
  struct Options {
    // The most there will be, at least 2. 0: twice as many as processors and two, so that with
    // every processor taken twice over there is one that reads and one that can still help.
    int max_threads = 0;
    // How long after a caller has waited for its own call the sockets are left to the next such
    // caller, if nothing else is under way.
    Clock::Duration callers_pause = std::chrono::milliseconds(20);
  };
  GrpcThreads();
  explicit GrpcThreads(Options options);
  // Waits for the calls that run. Not to be called from one of the threads.
  ~GrpcThreads();

  // Starts as many threads as serving needs: one that reads and one that computes; and sees to it
  // that gRPC will get its own. What uses the queue without this makes do with one if it must.
  // Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a descriptor.
  Status start();

  const std::shared_ptr<transport::CompletionQueue>& queue() const { return queue_; }
  int max_threads() const { return max_threads_; }
  // For tests and reports: how many have been started.
  int started() const;

 private:
  // What happened, but waits for a thread.
  struct Waiting {
    transport::Event* event;
    bool ok;
  };

  void work();
  void lead();
  bool may_handle(transport::Event* event, bool ok);
  void set_alarm(uint64_t beat);
  void clear_alarm();
  bool take_lead();
  bool watch();
  Status begin();
  bool find_watcher() MR_REQUIRES(mutex_);
  Status start_thread() MR_REQUIRES(mutex_);
  void run_waiting() MR_REQUIRES(mutex_);

  const int max_threads_;
  transport::Alarm alarm_;  // opened before the first thread starts
  const std::shared_ptr<transport::CompletionQueue> queue_;

  // Even while the leader waits for events, odd while it handles one. Who changes it leads.
  std::atomic<uint64_t> beat_{0};
  // True from when the alarm is set until it is cleared, or has gone off and found nothing to look
  // at.
  std::atomic<bool> alarm_is_set_{false};
  // The beat at which the alarm was set.
  std::atomic<uint64_t> watched_beat_{0};
  // True if many events came in the moment before the alarm last went off. It is not cleared then.
  std::atomic<bool> is_busy_{false};
  // True if there is a watcher, or one is on its way. Changed under mutex_.
  std::atomic<bool> has_watcher_{false};
  std::atomic<bool> ended_{false};

  mutable Mutex mutex_;
  Condition changed_;
  std::vector<std::thread> threads_ MR_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ MR_GUARDED_BY(mutex_);
  int standing_by_ MR_GUARDED_BY(mutex_) = 0;
  bool has_leader_ MR_GUARDED_BY(mutex_) = false;
  bool watcher_is_wanted_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
