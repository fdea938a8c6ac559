#include "millrace/transport/grpc/completion_queue.h"

#include <thread>

namespace millrace::transport {

grpc_call_error start_batch(grpc_call* call, std::span<const grpc_op> ops, void* tag) {
  const InsideGrpc inside;
  return grpc_call_start_batch(call, ops.data(), ops.size(), tag, nullptr);
}

void wait_for(grpc_completion_queue* queue, void* tag) {
  const InsideGrpc inside;
  grpc_completion_queue_pluck(queue, tag, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
}

CompletionQueue::CompletionQueue(absl::AnyInvocable<Status()> on_first_use)
    : queue_(grpc_completion_queue_create_for_next(nullptr)),
      on_first_use_(std::move(on_first_use)) {}

Status CompletionQueue::begin() {
  // Counted before looking: close() first says that it is closed, then waits for the count.
  users_.fetch_add(1);
  Status refusal;
  if (closed_.load()) {
    refusal = unavailable("the transport of this process has been shut down");
  } else if (!started_.load(std::memory_order_acquire)) {
    refusal = start();
  }
  if (!refusal.ok()) end();
  return refusal;
}

Status CompletionQueue::start() {
  MutexLock lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return {};
  MR_TRY(on_first_use_());
  started_.store(true, std::memory_order_release);
  return {};
}

grpc_event CompletionQueue::next() {
  const InsideGrpc inside;
  const grpc_event event =
      grpc_completion_queue_next(queue_.get(), gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
  if (event.type == GRPC_OP_COMPLETE) take_over(event.tag);
  return event;
}

void CompletionQueue::close() {
  closed_.store(true);
  // Users only hand an operation to gRPC, which takes microseconds.
  while (users_.load() != 0) std::this_thread::yield();
  grpc_completion_queue_shutdown(queue_.get());
}

}  // namespace millrace::transport
