// CompletionQueue: where gRPC reports what has happened, and who reads it. Private to this room.
//
// Shared by the threads that read it and by every server call and channel that starts operations on
// it. Operations are started between begin() and end(): once the queue is closed nothing may be
// started any more, and a call that tries is refused instead of crashing inside gRPC.
//
// A process has one set of sockets, and whoever waits for anything reads them all. A caller that
// waits for its own call would find that the queue's reader had read the answer: who reads is then
// handed from thread to thread four times for each call, which costs more than the call. So a
// reader for whom nothing is under way steps aside as long as such callers follow each other. A
// connection that ends then is noticed a pause later, or by the next call.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/transport/grpc/core.h"
#include "millrace/transport/grpc/handover.h"
#include "millrace/transport/threads/event.h"

namespace millrace::transport {

// What gRPC gives back once an operation has finished.
inline void* to_tag(Event* event) {
  hand_over(event);
  return event;
}

// Starts `ops` on `call`, whose queue is one for plucking, and blocks until they have finished.
grpc_call_error run_batch(grpc_call* call, grpc_completion_queue* queue,
                          std::span<const grpc_op> ops);

class CompletionQueue final : public EventSource {
 public:
  // `on_first_use` sees to it that somebody reads; if it can't, it is asked again at the next use.
  // Callers who wait follow each other if no more than `pause` is between them.
  CompletionQueue(Clock::Duration pause, absl::AnyInvocable<Status()> on_first_use);
  // Requires that close() was called and that the queue was read until it was empty.
  ~CompletionQueue() override = default;

  // Stands for the permission to start operations; false if the queue is closed, or if there is
  // nobody to read it.
  class [[nodiscard]] Use {
   public:
    explicit Use(CompletionQueue& queue) : queue_(queue), why_not_(queue.begin()) {}
    ~Use() {
      if (why_not_.ok()) queue_.end();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return why_not_.ok(); }
    const Status& why_not() const { return why_not_; }

   private:
    CompletionQueue& queue_;
    const Status why_not_;
  };

  // Valid as long as this.
  grpc_completion_queue* get() const { return queue_.get(); }
  // With a Use: starts `ops` on `call`, which has this queue. `event` happens once they have
  // finished, unless the result is an error.
  grpc_call_error start(grpc_call* call, std::span<const grpc_op> ops, Event* event);
  // The same for what is not a batch: before an event's operation is started, and if it was not.
  void expect() {
    if (expected_.fetch_add(1) == 0) call_reader();
  }
  void expect_no_more() { expected_.fetch_sub(1); }
  // From a thread that is about to wait for a call of its own on `channel` and reads sockets then.
  void caller_reads(grpc_channel* channel);
  // Waits for what happens next. A tag is an Event, which is the caller's from now on. One thread
  // at a time.
  std::optional<Happening> next() override;
  // Refuses further operations and lets readers see the end once all that run have finished.
  void close();

 private:
  // Only ends the reader's waiting.
  class Nudge final : public Event {
   public:
    Nudge() : Event(Work::brief) {}
    void happened(bool) override {}
  };

  Status begin();
  Status find_reader();
  void end() { users_.fetch_sub(1); }
  void call_reader();
  void let_callers_read();
  void step_aside();

  const Library library_;
  const QueueHandle queue_;
  const Clock::Duration pause_;
  Nudge nudge_;
  // Events that nobody has read yet; one more once the queue is closed.
  std::atomic<int64_t> expected_{0};
  // Calls whose callers have waited for them.
  std::atomic<uint64_t> waited_{0};
  uint64_t waited_before_ = 0;  // the reader's
  // True while the reader may be reading though nothing is expected. Who makes it false nudges it.
  std::atomic<bool> reads_for_nothing_{false};
  std::atomic<bool> is_aside_{false};
  std::atomic<bool> closed_{false};
  std::atomic<int> users_{0};
  std::atomic<bool> started_{false};
  Mutex mutex_;
  Condition changed_;
  absl::AnyInvocable<Status()> on_first_use_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
