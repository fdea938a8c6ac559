// EventThreads: the threads on which sockets are read and calls are handled. A fixed number at
// most, however many peers there are.
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
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/transport/threads/alarm.h"
#include "millrace/transport/threads/event.h"

namespace millrace::transport {

class EventThreads {
 public:
  struct Options {
    // The most there will be, at least 2. 0: twice as many as processors and two, so that with
    // every processor taken twice over there is one that reads and one that can still help.
    int max_threads = 0;
    // What the system calls them: "grpc" gives grpc:0, grpc:1, ...
    std::string name;
  };
  // `source` must live until they have ended.
  EventThreads(EventSource& source, Options options);
  // As finish(), if that has not been called.
  ~EventThreads();

  // Starts the first one. Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a
  // descriptor.
  Status begin();
  // Starts as many as serving needs, after begin(): one that reads and one that computes. Errors:
  // as of begin().
  Status prepare_to_serve();
  // Waits for all that happens, once the source has been closed. Not on one of the threads.
  void finish();

  int max_threads() const { return max_threads_; }
  // For tests and reports: how many have been started.
  int started() const;

 private:
  void work();
  void lead();
  bool may_handle(const Happening& next);
  void set_alarm(uint64_t beat);
  void clear_alarm();
  bool take_lead();
  bool watch();
  bool find_watcher() MR_REQUIRES(mutex_);
  Status start_thread() MR_REQUIRES(mutex_);
  void run_waiting() MR_REQUIRES(mutex_);

  EventSource& source_;
  const std::string name_;
  const int max_threads_;
  Alarm alarm_;  // opened before the first thread starts

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
  std::deque<Happening> waiting_ MR_GUARDED_BY(mutex_);
  int standing_by_ MR_GUARDED_BY(mutex_) = 0;
  bool has_leader_ MR_GUARDED_BY(mutex_) = false;
  bool watcher_is_wanted_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::transport
