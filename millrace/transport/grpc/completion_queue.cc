#include "millrace/transport/grpc/completion_queue.h"

#include <thread>

namespace millrace::rpc {

CompletionQueue::CompletionQueue(absl::AnyInvocable<void()> on_first_use)
    : queue_(grpc_completion_queue_create_for_next(nullptr)),
      on_first_use_(std::move(on_first_use)) {}

bool CompletionQueue::begin() {
  // Counted before looking: close() first says that it is closed, then waits for the count.
  users_.fetch_add(1);
  if (closed_.load()) {
    end();
    return false;
  }
  std::call_once(started_, [this] { on_first_use_(); });
  return true;
}

void CompletionQueue::close() {
  closed_.store(true);
  // Users only hand an operation to gRPC, which takes microseconds.
  while (users_.load() != 0) std::this_thread::yield();
  grpc_completion_queue_shutdown(queue_.get());
}

}  // namespace millrace::rpc
