#include "millrace/transport/grpc/completion_queue.h"

#include <chrono>
#include <thread>

namespace millrace::transport {

namespace {

grpc_call_error start_batch(grpc_call* call, std::span<const grpc_op> ops, void* tag) {
  const InsideGrpc inside;
  return grpc_call_start_batch(call, ops.data(), ops.size(), tag, nullptr);
}

}  // namespace

grpc_call_error run_batch(grpc_call* call, grpc_completion_queue* queue,
                          std::span<const grpc_op> ops) {
  const grpc_call_error failed = start_batch(call, ops, call);
  if (failed != GRPC_CALL_OK) return failed;
  const InsideGrpc inside;
  grpc_completion_queue_pluck(queue, call, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
  return GRPC_CALL_OK;
}

CompletionQueue::CompletionQueue(Clock::Duration pause, absl::AnyInvocable<Status()> on_first_use)
    : queue_(grpc_completion_queue_create_for_next(nullptr)),
      pause_(pause),
      on_first_use_(std::move(on_first_use)) {}

Status CompletionQueue::begin() {
  // Counted before looking: close() first says that it is closed, then waits for the count.
  users_.fetch_add(1);
  Status refusal;
  if (closed_.load()) {
    refusal = unavailable("the transport of this process has been shut down");
  } else if (!started_.load(std::memory_order_acquire)) {
    refusal = find_reader();
  }
  if (!refusal.ok()) end();
  return refusal;
}

Status CompletionQueue::find_reader() {
  MutexLock lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return {};
  MR_TRY(on_first_use_());
  started_.store(true, std::memory_order_release);
  return {};
}

grpc_call_error CompletionQueue::start(grpc_call* call, std::span<const grpc_op> ops,
                                       Event* event) {
  // Counted before it is started: the event may be read before start_batch() returns.
  expect();
  const grpc_call_error failed = start_batch(call, ops, to_tag(event));
  if (failed != GRPC_CALL_OK) expect_no_more();
  return failed;
}

void CompletionQueue::call_reader() {
  if (!is_aside_.load()) return;
  MutexLock lock(mutex_);
  changed_.notify_all();
}

void CompletionQueue::caller_reads(grpc_channel* channel) {
  waited_.fetch_add(1);
  if (!reads_for_nothing_.load()) return;
  const Use use(*this);
  if (!use || !reads_for_nothing_.exchange(false)) return;
  // gRPC has no call for waking a reader. Its answer to a question that is answered at once does.
  const InsideGrpc inside;
  Event* const event = &nudge_;
  expect();
  grpc_channel_watch_connectivity_state(channel, grpc_channel_check_connectivity_state(channel, 0),
                                        gpr_inf_past(GPR_CLOCK_REALTIME), queue_.get(), event);
}

// Returns when something may have to be read from the queue, or no caller reads.
void CompletionQueue::let_callers_read() {
  while (true) {
    reads_for_nothing_.store(false);
    if (expected_.load() > 0) return;
    // In this order: a caller counts itself and then looks whether we read.
    reads_for_nothing_.store(true);
    const uint64_t waited = waited_.load();
    if (waited == waited_before_) return;
    waited_before_ = waited;
    reads_for_nothing_.store(false);
    step_aside();
  }
}

void CompletionQueue::step_aside() {
  const auto until = std::chrono::steady_clock::now() + pause_;
  MutexLock lock(mutex_);
  // In this order: who expects something counts it and then looks whether we are aside.
  is_aside_.store(true);
  while (expected_.load() == 0)
    if (!changed_.wait_until(mutex_, until)) break;
  is_aside_.store(false);
}

std::optional<Happening> CompletionQueue::next() {
  let_callers_read();
  const InsideGrpc inside;
  const grpc_event event =
      grpc_completion_queue_next(queue_.get(), gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
  if (event.type != GRPC_OP_COMPLETE) return std::nullopt;
  expected_.fetch_sub(1);
  take_over(event.tag);
  return Happening{static_cast<Event*>(event.tag), event.success != 0};
}

void CompletionQueue::close() {
  closed_.store(true);
  // Users only hand an operation to gRPC, which takes microseconds.
  while (users_.load() != 0) std::this_thread::yield();
  expect();
  grpc_completion_queue_shutdown(queue_.get());
}

}  // namespace millrace::transport
