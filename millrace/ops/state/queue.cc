#include "millrace/ops/state/queue.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/queue_batch.h"

namespace millrace {
namespace {

Status check_component(size_t index, const PartialShape& expected, const Shape& got) {
  if (expected.allows(got)) return {};
  return invalid("Shape mismatch in tuple component ", index, ". Expected ", expected.to_string(),
                 ", got ", got.to_string());
}

std::string types_text(const std::vector<DType>& types) {
  std::string text;
  for (const DType type : types) str_append(&text, text.empty() ? "" : ", ", dtype_name(type));
  return text;
}

std::string shapes_text(const std::vector<PartialShape>& shapes) {
  std::string text;
  for (const PartialShape& shape : shapes)
    str_append(&text, text.empty() ? "" : ",", shape.to_string());
  return str_cat("[", text, "]");
}

}  // namespace

std::string QueueSpec::kind() const {
  const std::string_view name = op;
  return std::string(name.ends_with("V2") ? name.substr(0, name.size() - 2) : name);
}

// TensorFlow's padding queue calls itself a FIFOQueue in messages; clients have learnt to read
// that.
Queue::Queue(QueueSpec spec, std::string name, std::unique_ptr<QueueOrder> order)
    : Queue(std::move(spec), std::move(name), nullptr, std::move(order)) {}

// In braces the arguments are evaluated as they stand: the pointer first.
Queue::Queue(QueueSpec spec, std::string name, std::unique_ptr<KeptOrder> order)
    : Queue{std::move(spec), std::move(name), order.get(),
            std::unique_ptr<QueueOrder>(std::move(order))} {}

Queue::Queue(QueueSpec spec, std::string name, KeptOrder* kept, std::unique_ptr<QueueOrder> order)
    : spec_(std::move(spec)),
      name_(name),
      kept_(kept),
      core_(spec_.kind() == "PaddingFIFOQueue" ? "FIFOQueue" : spec_.kind(), std::move(name),
            spec_.capacity < 0 ? QueueCore::kUnbounded : static_cast<size_t>(spec_.capacity),
            std::move(order)) {}

Queue::~Queue() { close(cancelled("queue '", name_, "' was dropped")); }

Status Queue::check_same(const QueueSpec& other) const {
  if (other.kind() != spec_.kind()) return invalid("Expected ", spec_.kind(), ", found ", other.op);
  if (other.capacity != spec_.capacity) {
    return invalid("Shared queue '", name_, "' has capacity ", spec_.capacity,
                   " but requested capacity was ", other.capacity);
  }
  if (other.types != spec_.types) {
    return invalid("Shared queue '", name_, "' has component types ", types_text(spec_.types),
                   " but requested component types were ", types_text(other.types));
  }
  if (other.shapes != spec_.shapes) {
    return invalid("Shared queue '", name_, "' has component shapes ", shapes_text(spec_.shapes),
                   " but requested component shapes were ", shapes_text(other.shapes));
  }
  if (other.min_after_dequeue != spec_.min_after_dequeue) {
    return invalid("Shared queue '", name_, "' has min_after_dequeue ", spec_.min_after_dequeue,
                   " but requested min_after_dequeue was ", other.min_after_dequeue, ".");
  }
  // Who gives no seeds takes those that are there.
  const bool has_seeds = other.seed != 0 || other.seed2 != 0;
  if (has_seeds && (other.seed != spec_.seed || other.seed2 != spec_.seed2)) {
    return invalid("Shared queue '", name_, "' has random seeds (", spec_.seed, ", ", spec_.seed2,
                   ") but requested seeds are (", other.seed, ", ", other.seed2, ").");
  }
  return {};
}

void Queue::enqueue(QueueElement element, Cancellation* cancellation, Done<void> done) {
  if (Status status = check_element(element); !status.ok()) return done(std::move(status));
  Request request{.kind = Attempt::enqueue, .elements = {}};
  request.elements.push_back(std::move(element));
  start(std::move(request), cancellation,
        [done = std::move(done)](Status status, QueueBatch) mutable { done(std::move(status)); });
}

void Queue::enqueue_many(QueueElement rows, Cancellation* cancellation, Done<void> done) {
  auto elements = split_rows(rows);
  if (!elements.ok()) return done(elements.status());
  if (Status status = check_rows(rows); !status.ok()) return done(std::move(status));
  // The update has been made when the last of them is in.
  if (!elements->empty()) elements->back().made_by = rows.made_by;
  Request request{.kind = Attempt::enqueue, .elements = std::move(*elements)};
  start(std::move(request), cancellation,
        [done = std::move(done)](Status status, QueueBatch) mutable { done(std::move(status)); });
}

void Queue::dequeue(Cancellation* cancellation, Done<QueueElement> done) {
  start({.kind = Attempt::dequeue, .elements = {}, .count = 1}, cancellation,
        [done = std::move(done)](Status status, QueueBatch batch) mutable {
          if (!status.ok()) return done(std::move(status));
          done(std::move(batch[0]));
        });
}

void Queue::dequeue_many(int64_t count, Shortfall shortfall, Cancellation* cancellation,
                         Done<QueueElement> done) {
  const BatchRule rule = batch_rule(spec_);
  if (Status status = rule.check(); !status.ok()) return done(std::move(status));
  start({.kind = Attempt::dequeue,
         .elements = {},
         .count = static_cast<size_t>(count),
         .shortfall = shortfall},
        cancellation, [rule, done = std::move(done)](Status status, QueueBatch batch) mutable {
          if (!status.ok()) return done(std::move(status));
          // Here, where the lock is not held: to copy a large batch under it would keep everybody
          // else from the queue.
          done(rule.stack(batch));
        });
}

Queue::KeptView Queue::kept_changes() {
  MutexLock lock(mutex_);
  return kept_view(kept_->take_changes());
}

Queue::KeptView Queue::all_kept() {
  MutexLock lock(mutex_);
  loans_changed_ = incarnation_ != 0;
  return kept_view(kept_->take_all());
}

Status Queue::close_queue(PendingEnqueues pending) {
  Status status;
  SettledList settled;
  {
    MutexLock lock(mutex_);
    QueueCore::Completions completions;
    status = core_.close(pending, completions);
    take_waiters(std::move(completions), settled);
  }
  answer_all(std::move(settled));
  return status;
}

void Queue::close(const Status& why) {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    QueueCore::Completions completions;
    core_.shut(why, completions);
    timer_.cancel();
    take_waiters(std::move(completions), settled);
  }
  answer_all(std::move(settled));
}

size_t Queue::size() const {
  MutexLock lock(mutex_);
  return core_.size();
}

bool Queue::is_closed() const {
  MutexLock lock(mutex_);
  return core_.is_closed();
}

std::string Queue::description() const {
  MutexLock lock(mutex_);
  return str_cat(core_.description(), ", of (", types_text(spec_.types), ")");
}

void Queue::start(Request request, Cancellation* cancellation, Answer answer) {
  SettledList settled;
  QueueCore::Ticket ticket;
  Cancellation::Registration registration;
  const Attempt kind = request.kind;
  const std::shared_ptr<Lending> lending = request.lending;
  {
    MutexLock lock(mutex_);
    ticket = next_ticket_++;
    // The cancellation is one lock for all of a step's kernels: who need not wait leaves it alone.
    if (cancellation == nullptr || !would_wait(request)) {
      QueueCore::Completions completions;
      put(ticket, std::move(request), completions);
      // Nearly always settled at once: then it never becomes a waiter.
      const auto own = std::find_if(completions.begin(), completions.end(),
                                    [&](const auto& each) { return each.ticket == ticket; });
      if (own == completions.end()) {
        waiters_.emplace(ticket, Waiter{std::move(answer), {}, lending});
      } else {
        settle(Waiter{std::move(answer), {}, lending}, std::move(*own), settled);
        completions.erase(own);
      }
      take_waiters(std::move(completions), settled);
    }
  }
  if (answer) {  // NOLINT(bugprone-use-after-move): what was moved has been settled
    // It has to wait. The cancellation hears of it first: once the attempt is in the queue, it may
    // be answered at any moment, and the cancellation may be gone right after. Not under the lock:
    // what was cancelled already calls back from inside on_cancel, and takes it.
    registration =
        cancellation->on_cancel([this, ticket, kind](const Status&) { cancel(ticket, kind); });
    MutexLock lock(mutex_);
    waiters_.emplace(ticket, Waiter{std::move(answer), std::move(registration), lending});
    QueueCore::Completions completions;
    put(ticket, std::move(request), completions);  // NOLINT(bugprone-use-after-move): likewise
    // A callback that came before found nothing to cancel. One that comes from now on finds the
    // attempt, so that between them none is missed.
    if (cancellation->cancelled()) core_.cancel(ticket, cancelled_text(kind), completions);
    take_waiters(std::move(completions), settled);
  }
  answer_all(std::move(settled));
}

void Queue::put(QueueCore::Ticket ticket, Request request, QueueCore::Completions& completions) {
  if (request.kind == Attempt::enqueue) {
    core_.enqueue(ticket, std::move(request.elements), completions);
  } else {
    core_.dequeue(ticket, request.count, request.shortfall,
                  request.lending == nullptr ? Taking::keeps : Taking::borrows, completions);
  }
}

bool Queue::would_wait(const Request& request) const {
  if (core_.is_closed()) return core_.waiting_enqueues() > 0 || core_.num_out() > 0;
  if (request.kind == Attempt::enqueue) {
    // What came back may have made it more than the capacity.
    return core_.waiting_enqueues() > 0 ||
           core_.size() + request.elements.size() > core_.capacity();
  }
  const size_t reserve = static_cast<size_t>(spec_.min_after_dequeue);
  return core_.waiting_dequeues() > 0 || core_.size() < request.count + reserve;
}

Status Queue::cancelled_text(Attempt kind) {
  return cancelled(kind == Attempt::enqueue ? "Enqueue" : "Dequeue", " operation was cancelled");
}

void Queue::cancel(QueueCore::Ticket ticket, Attempt kind) {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    QueueCore::Completions completions;
    core_.cancel(ticket, cancelled_text(kind), completions);
    take_waiters(std::move(completions), settled);
  }
  answer_all(std::move(settled));
}

void Queue::take_waiters(QueueCore::Completions completions, SettledList& settled) {
  for (QueueCore::Completion& completion : completions) {
    auto waiter = waiters_.extract(completion.ticket);
    settle(std::move(waiter.mapped()), std::move(completion), settled);
  }
}

void Queue::settle(Waiter waiter, QueueCore::Completion completion, SettledList& settled) {
  for (QueueElement& element : completion.elements) {
    if (waiter.lending != nullptr) {
      lend_out(*waiter.lending, element);
      continue;
    }
    // Taken for good, maybe by somebody who knows of no leases.
    if (element.lent_as != 0) (void)leases_.end(element.lent_as);
    forget(element);
  }
  settled.push_back({std::move(waiter), std::move(completion)});
}

void Queue::answer_all(SettledList settled) {
  // Without the lock: an answer runs on with its step, which may come back to this queue.
  for (Settled& each : settled) {
    // Before the answer: what waits may destroy its cancellation once it has it.
    each.waiter.registration.release();
    each.waiter.answer(std::move(each.completion.status), std::move(each.completion.elements));
  }
}

Status Queue::check_element(const QueueElement& element) const {
  for (size_t i = 0; i < element.size() && i < spec_.shapes.size(); ++i) {
    MR_TRY(check_component(i, spec_.shapes[i], element[i].shape()));
  }
  return {};
}

Status Queue::check_rows(const QueueElement& rows) const {
  for (size_t i = 0; i < rows.size() && i < spec_.shapes.size(); ++i) {
    if (spec_.shapes[i].rank() < 0) continue;
    absl::InlinedVector<int64_t, 6> dims{rows[i].shape()[0]};
    dims.insert(dims.end(), spec_.shapes[i].dims().begin(), spec_.shapes[i].dims().end());
    MR_ASSIGN(const PartialShape expected, PartialShape::create(dims));
    MR_TRY(check_component(i, expected, rows[i].shape()));
  }
  return {};
}

}  // namespace millrace
