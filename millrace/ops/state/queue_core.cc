#include "millrace/ops/state/queue_core.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

void QueueCore::enqueue(Ticket ticket, QueueBatch elements, Completions& completions) {
  // Also a closed one takes nothing.
  if (elements.empty()) {
    completions.push_back({ticket, {}, {}});
    return;
  }
  if (closed_) {
    completions.push_back({ticket, cancelled(kind_, " '", name_, "' is closed."), {}});
    return;
  }
  enqueues_.push_back({ticket, std::move(elements)});
  settle(completions);
}

void QueueCore::dequeue(Ticket ticket, size_t count, Shortfall shortfall, Taking taking,
                        Completions& completions) {
  if (count == 0) {
    completions.push_back({ticket, {}, {}});
    return;
  }
  dequeues_.push_back({ticket, count, shortfall, taking, {}});
  settle(completions);
}

void QueueCore::come_back(QueueBatch elements, Completions& completions) {
  num_out_ -= elements.size();
  for (auto element = elements.rbegin(); element != elements.rend(); ++element)
    order_->restore(std::move(*element));
  settle(completions);
}

void QueueCore::stay_out(size_t count, Completions& completions) {
  num_out_ -= count;
  settle(completions);
}

void QueueCore::drop(uint64_t number, Completions& completions) {
  order_->drop(number);
  // It may be with a dequeue that waits for more, and would come back with that.
  for (Dequeue& attempt : dequeues_) {
    const auto dropped =
        std::remove_if(attempt.taken.begin(), attempt.taken.end(),
                       [number](const auto& each) { return each.lent_as == number; });
    attempt.taken.erase(dropped, attempt.taken.end());
  }
  settle(completions);
}

Status QueueCore::close(PendingEnqueues pending, Completions& completions) {
  const bool nothing_to_cancel = pending == PendingEnqueues::keep;
  if (closed_ && nothing_to_cancel) return cancelled("Queue '", name_, "' is already closed.");
  closed_ = true;
  if (pending == PendingEnqueues::cancel) {
    for (Enqueue& attempt : enqueues_)
      completions.push_back({attempt.ticket, cancelled("Enqueue operation was cancelled"), {}});
    enqueues_.clear();
  }
  settle(completions);
  return {};
}

void QueueCore::cancel(Ticket ticket, const Status& why, Completions& completions) {
  const auto has_ticket = [ticket](const auto& attempt) { return attempt.ticket == ticket; };
  if (auto found = std::find_if(enqueues_.begin(), enqueues_.end(), has_ticket);
      found != enqueues_.end()) {
    enqueues_.erase(found);
  } else if (auto found = std::find_if(dequeues_.begin(), dequeues_.end(), has_ticket);
             found != dequeues_.end()) {
    give_back(*found);
    dequeues_.erase(found);
  } else {
    return;
  }
  completions.push_back({ticket, why, {}});
  // Whoever stood behind it may go on.
  settle(completions);
}

void QueueCore::shut(const Status& why, Completions& completions) {
  closed_ = true;
  for (Enqueue& attempt : enqueues_) completions.push_back({attempt.ticket, why, {}});
  enqueues_.clear();
  for (Dequeue& attempt : dequeues_) completions.push_back({attempt.ticket, why, {}});
  dequeues_.clear();
}

void QueueCore::settle(Completions& completions) {
  // What is taken makes room for enqueues that wait, and what they put in may be what the next
  // dequeue waits for: round again until nothing moves.
  for (bool progress = true; progress;) {
    progress = false;
    // Whatever goes in here, the dequeues below see.
    while (!enqueues_.empty() && put_all(enqueues_.front())) {
      completions.push_back({enqueues_.front().ticket, {}, {}});
      enqueues_.pop_front();
    }
    while (!dequeues_.empty()) {
      const Progress made = advance(dequeues_.front(), completions);
      progress |= made != Progress::none;
      if (made != Progress::finished) break;
      dequeues_.pop_front();
    }
  }
}

bool QueueCore::put_all(Enqueue& attempt) {
  while (attempt.done < attempt.elements.size() && has_room())
    order_->push(std::move(attempt.elements[attempt.done++]));
  return attempt.done == attempt.elements.size();
}

QueueCore::Progress QueueCore::advance(Dequeue& attempt, Completions& completions) {
  const bool is_last_chance = closed_ && enqueues_.empty() && num_out_ == 0;
  if (is_last_chance && order_->size() < attempt.count - attempt.taken.size())
    return run_short(attempt, completions);
  // To take some now would take them away from a better one that comes later.
  if (order_->prefers_some() && available() < attempt.count) return Progress::none;
  Progress progress = Progress::none;
  for (size_t n = available(); n > 0 && attempt.taken.size() < attempt.count; --n) {
    attempt.taken.push_back(order_->pop());
    progress = Progress::some;
  }
  if (attempt.taken.size() < attempt.count) return progress;
  if (attempt.taking == Taking::borrows) num_out_ += attempt.count;
  completions.push_back({attempt.ticket, {}, std::move(attempt.taken)});
  return Progress::finished;
}

// Closed, and what the attempt wants will never come.
QueueCore::Progress QueueCore::run_short(Dequeue& attempt, Completions& completions) {
  const size_t in_reach = order_->size() + attempt.taken.size();
  // TensorFlow's queues with priorities give all that is asked for, or nothing.
  const bool may_be_fewer = attempt.shortfall == Shortfall::take_fewer && !order_->prefers_some();
  if (may_be_fewer && in_reach > 0) {
    while (order_->size() > 0) attempt.taken.push_back(order_->pop());
    completions.push_back({attempt.ticket, {}, std::move(attempt.taken)});
    return Progress::finished;
  }
  give_back(attempt);
  completions.push_back(
      {attempt.ticket,
       out_of_range(kind_, " '", name_, "' is closed and has insufficient elements (requested ",
                    attempt.count, ", current size ", order_->size(), ")"),
       {}});
  return Progress::finished;
}

void QueueCore::give_back(Dequeue& attempt) {
  // The last first, so that in the end the first one is in front again.
  while (!attempt.taken.empty()) {
    order_->restore(std::move(attempt.taken.back()));
    attempt.taken.pop_back();
  }
}

size_t QueueCore::available() const {
  const size_t reserve = closed_ ? 0 : order_->reserve();
  return order_->size() > reserve ? order_->size() - reserve : 0;
}

bool QueueCore::has_room() const {
  if (order_->size() < capacity_) return true;
  // A dequeue that takes all at once or nothing would otherwise wait for ever for more than there
  // may be.
  return order_->prefers_some() && !dequeues_.empty() && order_->size() < dequeues_.front().count;
}

std::string QueueCore::description() const {
  const std::string capacity = capacity_ == kUnbounded ? "any number" : str_cat(capacity_);
  const std::string lent = num_out_ == 0 ? "" : str_cat(", ", num_out_, " lent");
  return str_cat(kind_, " '", name_, "': ", order_->size(), " of ", capacity, ", ",
                 enqueues_.size(), " enqueues and ", dequeues_.size(), " dequeues waiting", lent,
                 closed_ ? ", closed" : "");
}

}  // namespace millrace
