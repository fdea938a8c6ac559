// CompletionQueue: where gRPC reports what has happened, and who reads it. Private to this room.
//
// Shared by the threads that read it and by every server call and channel that starts operations on
// it. Operations are started between begin() and end(): once the queue is closed nothing may be
// started any more, and a call that tries is refused instead of crashing inside gRPC.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/transport/grpc/core.h"
#include "millrace/transport/grpc/handover.h"

namespace millrace::transport {

// What is to happen when an operation has finished. Runs once, on the thread that read the queue.
class Event {
 public:
  // `ok` is gRPC's word for "there was something": false when reading ended or the server is gone.
  virtual void happened(bool ok) = 0;

 protected:
  ~Event() = default;
};

// An event that calls a member of an object, which it keeps alive while the operation runs.
template <class Owner>
class MemberEvent final : public Event {
 public:
  using Member = void (Owner::*)(bool ok);
  explicit MemberEvent(Member member) : member_(member) {}

  // The tag for the operation. One operation at a time.
  void* armed(std::shared_ptr<Owner> owner) {
    owner_ = std::move(owner);
    Event* const tag = this;
    hand_over(tag);
    return tag;
  }
  void disarm() { owner_.reset(); }
  void happened(bool ok) override {
    const std::shared_ptr<Owner> owner = std::move(owner_);
    ((*owner).*member_)(ok);
  }

 private:
  const Member member_;
  std::shared_ptr<Owner> owner_;
};

// Starts `ops` on `call`; `tag` comes out of the call's queue once they have finished, unless the
// result is an error.
grpc_call_error start_batch(grpc_call* call, std::span<const grpc_op> ops, void* tag);

// Blocks until `tag` comes out of `queue`, one for plucking.
void wait_for(grpc_completion_queue* queue, void* tag);

class CompletionQueue {
 public:
  explicit CompletionQueue(absl::AnyInvocable<void()> on_first_use);
  // Requires that close() was called and that the queue was read until it was empty.
  ~CompletionQueue() = default;

  // Stands for the permission to start operations; false if the queue is closed.
  class [[nodiscard]] Use {
   public:
    explicit Use(CompletionQueue& queue) : queue_(queue.begin() ? &queue : nullptr) {}
    ~Use() {
      if (queue_ != nullptr) queue_->end();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    explicit operator bool() const { return queue_ != nullptr; }

   private:
    CompletionQueue* const queue_;
  };

  // Valid as long as this.
  grpc_completion_queue* get() const { return queue_.get(); }
  // Waits for what happens next. A tag is an Event, which is the caller's from now on.
  grpc_event next();
  // Refuses further operations and lets readers see the end once all that run have finished.
  void close();

 private:
  bool begin();
  void end() { users_.fetch_sub(1); }

  const Library library_;
  const QueueHandle queue_;
  absl::AnyInvocable<void()> on_first_use_;  // called once, under started_
  std::once_flag started_;
  std::atomic<bool> closed_{false};
  std::atomic<int> users_{0};
};

}  // namespace millrace::transport
