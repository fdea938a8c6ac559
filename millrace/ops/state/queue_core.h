// QueueCore: the rules of a queue, without threads, locks or waiting.
//
// Attempts to enqueue or dequeue go in with a ticket; whatever is settled by a call comes out as
// completions, at once or at a later call. Attempts of one kind are served first come first served:
// a later one waits behind an earlier one even if it could be satisfied. An attempt for several
// elements makes progress one element at a time, so it may ask for more than the capacity. In an
// order that chooses among all that is there, elements of one dequeue leave together, once there
// are enough; then the capacity gives way to what the first waiting dequeue asks for.
//
//   closed:  enqueues are refused (CANCELLED); those that wait already still go in as room appears,
//            unless they are cancelled with the close; a dequeue that can't be satisfied any more
//            fails (OUT_OF_RANGE), or takes what is left if it may take fewer.
//
// What a dequeue took before it failed goes back to the front: nothing is lost.
//
// A dequeue may only borrow: its element is out until it is said to have ended or comes back, and
// as long as one is out a closed queue does not call itself empty. Who has it, and until when, is
// in lease_book.h.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/status.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct UpdateName;  // applied_book.h

// One element: a tensor per component.
class QueueElement : public absl::InlinedVector<Tensor, 1> {
 public:
  using absl::InlinedVector<Tensor, 1>::InlinedVector;
  // Under which number it was lent before (lease_book.h); 0: never.
  uint64_t lent_as = 0;
  // Its number among what the queue keeps on the disk (kept_order.h); 0: none.
  uint64_t kept_as = 0;
  // Which update puts it in, if that has to be told with it (kept_order.h).
  std::shared_ptr<const UpdateName> made_by = nullptr;
};
using QueueBatch = absl::InlinedVector<QueueElement, 1>;

// Holds elements and decides which leaves next.
class QueueOrder {
 public:
  virtual ~QueueOrder() = default;
  virtual size_t size() const = 0;
  virtual void push(QueueElement element) = 0;
  // Requires size() > 0.
  virtual QueueElement pop() = 0;
  // Takes back what `pop` gave, to leave first again where the order knows a first.
  virtual void restore(QueueElement element) = 0;
  // Drops the element that was lent as `number`; does nothing if there is none.
  virtual void drop(uint64_t number) = 0;
  // How many elements must stay behind while the queue is open.
  virtual size_t reserve() const { return 0; }
  // Whether a later element may have to leave before an earlier one.
  virtual bool prefers_some() const { return false; }
};

std::unique_ptr<QueueOrder> fifo_order();
// Any element leaves with the same probability; `reserve` stay behind to mix with.
std::unique_ptr<QueueOrder> shuffled_order(size_t reserve, uint64_t seed, uint64_t seed2);
// The least int64 scalar in component 0 leaves first; equal ones in order of arrival.
std::unique_ptr<QueueOrder> priority_order();

enum class PendingEnqueues : uint8_t { keep, cancel };
enum class Shortfall : uint8_t { fail, take_fewer };
// Whether what a dequeue takes is the taker's for good.
enum class Taking : uint8_t { keeps, borrows };

class QueueCore {
 public:
  using Ticket = uint64_t;
  struct Completion {
    Ticket ticket = 0;
    Status status;
    QueueBatch elements;  // of a dequeue that succeeded
  };
  using Completions = absl::InlinedVector<Completion, 1>;

  static constexpr size_t kUnbounded = ~size_t{0};

  // `kind` and `name` appear in error messages: "FIFOQueue", "names".
  QueueCore(std::string kind, std::string name, size_t capacity, std::unique_ptr<QueueOrder> order)
      : kind_(std::move(kind)),
        name_(std::move(name)),
        capacity_(capacity),
        order_(std::move(order)) {}

  // Tickets of attempts that are under way must differ.
  void enqueue(Ticket ticket, QueueBatch elements, Completions& completions);
  void dequeue(Ticket ticket, size_t count, Shortfall shortfall, Completions& completions) {
    dequeue(ticket, count, shortfall, Taking::keeps, completions);
  }
  void dequeue(Ticket ticket, size_t count, Shortfall shortfall, Taking taking,
               Completions& completions);
  // Of what is out, the elements come back, the first of them to leave first; or `count` never do.
  void come_back(QueueBatch elements, Completions& completions);
  void stay_out(size_t count, Completions& completions);
  // Drops an element that nobody has, by the number under which it was lent: be it in the queue or
  // with a dequeue that still waits.
  void drop(uint64_t number, Completions& completions);
  // Errors: CANCELLED if it is closed already and there is nothing more to cancel.
  Status close(PendingEnqueues pending, Completions& completions);
  // Ends an attempt, if it still waits. `why` is its status.
  void cancel(Ticket ticket, const Status& why, Completions& completions);
  // Closes and ends every attempt with `why`.
  void shut(const Status& why, Completions& completions);

  size_t size() const { return order_->size(); }
  bool is_closed() const { return closed_; }
  size_t capacity() const { return capacity_; }
  size_t waiting_enqueues() const { return enqueues_.size(); }
  size_t waiting_dequeues() const { return dequeues_.size(); }
  size_t num_out() const { return num_out_; }
  // "FIFOQueue 'names': 3 of 10, 0 enqueues and 2 dequeues waiting, closed"
  std::string description() const;

 private:
  struct Enqueue {
    Ticket ticket;
    QueueBatch elements;
    size_t done = 0;  // how many went in
  };
  struct Dequeue {
    Ticket ticket;
    size_t count;
    Shortfall shortfall;
    Taking taking;
    QueueBatch taken;
  };
  enum class Progress : uint8_t { none, some, finished };

  void settle(Completions& completions);
  // Puts in what there is room for; true if that was all.
  bool put_all(Enqueue& attempt);
  Progress advance(Dequeue& attempt, Completions& completions);
  Progress run_short(Dequeue& attempt, Completions& completions);
  void give_back(Dequeue& attempt);
  size_t available() const;
  bool has_room() const;

  const std::string kind_, name_;
  const size_t capacity_;
  const std::unique_ptr<QueueOrder> order_;
  bool closed_ = false;
  size_t num_out_ = 0;  // borrowed
  std::deque<Enqueue> enqueues_;
  std::deque<Dequeue> dequeues_;
};

}  // namespace millrace
