// Queue: a queue on a device, shared by every graph that names it.
//
// A thin shell around QueueCore: one lock, waiting attempts with their continuations and
// cancellations, and the batching of elements into tensors. Continuations run without the lock, on
// the thread that settled the attempt. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/op/resource.h"
#include "millrace/ops/state/queue_core.h"

namespace millrace {

// What two handles of one queue must agree on.
struct QueueSpec {
  std::string op;                    // "FIFOQueueV2"
  std::vector<DType> types;          // of the components
  std::vector<PartialShape> shapes;  // of the components; empty: any
  int64_t capacity = -1;             // elements; negative: unbounded
  int64_t min_after_dequeue = 0;
  int64_t seed = 0, seed2 = 0;

  // "FIFOQueue": the op without its version.
  std::string kind() const;
};

class Queue final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "queue";

  Queue(QueueSpec spec, std::string name, std::unique_ptr<QueueOrder> order);
  ~Queue() override;

  const QueueSpec& spec() const { return spec_; }
  // Errors: INVALID_ARGUMENT saying how `other` differs.
  Status check_same(const QueueSpec& other) const;

  // Shapes are checked (INVALID_ARGUMENT); types are the caller's promise, which the kernels of
  // queue_accesses.cc keep.
  void enqueue(QueueElement element, Cancellation* cancellation, Done<void> done);
  // One element per row of the components, which must have as many rows each.
  void enqueue_many(QueueElement rows, Cancellation* cancellation, Done<void> done);
  void dequeue(Cancellation* cancellation, Done<QueueElement> done);
  // `count` elements stacked along a new outermost axis; padded where shapes vary and the queue
  // pads. Errors: INVALID_ARGUMENT if the queue was not told the shapes of its components.
  void dequeue_many(int64_t count, Shortfall shortfall, Cancellation* cancellation,
                    Done<QueueElement> done);
  // Errors: CANCELLED if it was closed before.
  Status close_queue(PendingEnqueues pending);
  size_t size() const;
  bool is_closed() const;

  std::string description() const override;
  void close(const Status& why) override;

 private:
  using Answer = absl::AnyInvocable<void(Status, QueueBatch)>;
  struct Waiter {
    Answer answer;
    Cancellation::Registration registration;
  };
  enum class Attempt : uint8_t { enqueue, dequeue };
  struct Request {
    Attempt kind;
    QueueBatch elements;
    size_t count = 0;
    Shortfall shortfall = Shortfall::fail;
  };

  void start(Request request, Cancellation* cancellation, Answer answer);
  void put(QueueCore::Ticket ticket, Request request, QueueCore::Completions& completions)
      MR_REQUIRES(mutex_);
  bool would_wait(const Request& request) const MR_REQUIRES(mutex_);
  void cancel(QueueCore::Ticket ticket, Attempt kind);
  static Status cancelled_text(Attempt kind);
  // Takes the waiters of completed attempts; the caller answers them without the lock.
  struct Settled {
    Waiter waiter;
    QueueCore::Completion completion;
  };
  using SettledList = absl::InlinedVector<Settled, 2>;
  void take_waiters(QueueCore::Completions completions, SettledList& settled) MR_REQUIRES(mutex_);
  static void answer_all(SettledList settled);

  Status check_element(const QueueElement& element) const;
  // Elements stacked along a first axis, as split_rows() takes them.
  Status check_rows(const QueueElement& rows) const;

  const QueueSpec spec_;
  const std::string name_;
  mutable Mutex mutex_;
  QueueCore core_ MR_GUARDED_BY(mutex_);
  QueueCore::Ticket next_ticket_ MR_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<QueueCore::Ticket, Waiter> waiters_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
