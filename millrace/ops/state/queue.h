// Queue: a queue on a device, shared by every graph that names it.
//
// A thin shell around QueueCore: one lock, waiting attempts with their continuations and
// cancellations, and the batching of elements into tensors. Continuations run without the lock, on
// the thread that settled the attempt. Thread-safe.
//
// A queue lends elements to whoever asks so (queue_leases.cc): LeaseBook has the rules, and this
// the elements themselves, the time, and the timer that takes back what is not returned.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/op/resource.h"
#include "millrace/ops/state/device_time.h"
#include "millrace/ops/state/kept_order.h"
#include "millrace/ops/state/lease.h"
#include "millrace/ops/state/lease_book.h"
#include "millrace/ops/state/queue_core.h"
#include "millrace/ops/state/queue_spec.h"

namespace millrace {

// On which terms an element is to be lent.
struct LeaseRequest {
  LeaseBook::Holder holder = 0;  // of Queue::new_holder
  Clock::Duration duration{};    // after it, the element comes back
  uint32_t attempts = 0;         // after so many it is a dead letter; 0: never
  std::shared_ptr<const DeviceTime> time;
};

// An element that is lent.
struct LentElement {
  QueueElement element;
  Lease lease;
};

class Queue final : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  static constexpr std::string_view kTypeName = "queue";

  Queue(QueueSpec spec, std::string name, std::unique_ptr<QueueOrder> order);
  // One that is kept on the disk (kept_state.h).
  Queue(QueueSpec spec, std::string name, std::unique_ptr<KeptOrder> order);
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

  // Acknowledges `done_with`, if it is a lease of this queue, and lends an element; waits, also if
  // the queue is closed, as long as elements are lent that may come back. Errors: as for dequeue,
  // and FAILED_PRECONDITION if `done_with` is a dead letter: then nothing is lent.
  void lend(LeaseRequest request, const Lease& done_with, Cancellation* cancellation,
            Done<LentElement> done);
  // The element is done. OK if it was before. Errors: INVALID_ARGUMENT for a lease of another
  // queue, FAILED_PRECONDITION for a dead letter.
  Status end_lease(const Lease& lease);
  // False if it has been taken back. Errors: INVALID_ARGUMENT for a lease of another queue.
  Result<bool> extend_lease(const Lease& lease, Clock::Duration duration);
  // Nothing if it is not lent in that attempt any more. Errors: as for extend_lease.
  Status give_back(const Lease& lease);
  // All that this holder has.
  void give_back_all_of(LeaseBook::Holder holder);
  // Who answers for leases: a number that nobody else has.
  LeaseBook::Holder new_holder();
  // The element that was given up first.
  std::optional<QueueElement> take_dead_letter();
  struct LeaseCounts {
    size_t lent = 0, dead = 0;
  };
  LeaseCounts lease_counts() const;

  // For whoever keeps it: what has changed since either was called last, or all that there is.
  struct KeptView {
    KeptOrder::Changes changes;
    bool is_closed = false;
    uint64_t next_number = 1;
    std::optional<KeptLoans> loans;  // if they have changed
  };
  KeptView kept_changes();
  KeptView all_kept();
  // What `loans` says was lent in an earlier life: the order has it already, but the dead letters.
  void put_back(const KeptLoans& loans, std::deque<QueueElement> dead);
  bool is_kept() const { return kept_ != nullptr; }

  // Errors: CANCELLED if it was closed before.
  Status close_queue(PendingEnqueues pending);
  size_t size() const;
  bool is_closed() const;

  std::string description() const override;
  void close(const Status& why) override;

 private:
  Queue(QueueSpec spec, std::string name, KeptOrder* kept, std::unique_ptr<QueueOrder> order);

  using Answer = absl::AnyInvocable<void(Status, QueueBatch)>;
  // A lease that is asked for, and then given.
  struct Lending {
    LeaseRequest request;
    Lease given;
  };
  struct Waiter {
    Answer answer;
    Cancellation::Registration registration;
    std::shared_ptr<Lending> lending = nullptr;  // if it borrows
  };
  enum class Attempt : uint8_t { enqueue, dequeue };
  struct Request {
    Attempt kind;
    QueueBatch elements;
    size_t count = 0;
    Shortfall shortfall = Shortfall::fail;
    std::shared_ptr<Lending> lending = nullptr;
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
  void settle(Waiter waiter, QueueCore::Completion completion, SettledList& settled)
      MR_REQUIRES(mutex_);

  // Of queue_leases.cc.
  void lend_out(Lending& lending, QueueElement& element) MR_REQUIRES(mutex_);
  Status end_number(uint64_t number, QueueCore::Completions& completions) MR_REQUIRES(mutex_);
  void take_back(const LeaseBook::Returned& returned, SettledList& settled) MR_REQUIRES(mutex_);
  void set_timer() MR_REQUIRES(mutex_);
  void expire();
  Status check_own(const Lease& lease) const MR_REQUIRES(mutex_);
  KeptView kept_view(KeptOrder::Changes changes) MR_REQUIRES(mutex_);
  // It is not among what is kept any more, and its loan neither.
  void forget(const QueueElement& element) MR_REQUIRES(mutex_);
  static void answer_all(SettledList settled);

  Status check_element(const QueueElement& element) const;
  // Elements stacked along a first axis, as split_rows() takes them.
  Status check_rows(const QueueElement& rows) const;

  const QueueSpec spec_;
  const std::string name_;
  KeptOrder* const kept_;  // the core's order; null: the queue is not kept. Guarded by mutex_
  mutable Mutex mutex_;
  QueueCore core_ MR_GUARDED_BY(mutex_);
  QueueCore::Ticket next_ticket_ MR_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<QueueCore::Ticket, Waiter> waiters_ MR_GUARDED_BY(mutex_);

  LeaseBook leases_ MR_GUARDED_BY(mutex_);
  uint64_t incarnation_ MR_GUARDED_BY(mutex_) = 0;  // drawn with the first lease
  LeaseBook::Holder last_holder_ MR_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, QueueElement> lent_ MR_GUARDED_BY(mutex_);  // by number
  std::deque<QueueElement> dead_ MR_GUARDED_BY(mutex_);
  // Of a kept queue: what is open in the book, by number, as it is kept.
  std::map<uint64_t, uint64_t> loan_is_kept_as_ MR_GUARDED_BY(mutex_);
  bool loans_changed_ MR_GUARDED_BY(mutex_) = false;
  // Given with the first lease. Declared before the timer, which must end first.
  std::shared_ptr<const DeviceTime> time_ MR_GUARDED_BY(mutex_);
  std::optional<Clock::Time> timer_is_for_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
