// Part of queue.h: elements that are lent.
#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/queue.h"

namespace millrace {

void Queue::lend(LeaseRequest request, const Lease& done_with, Cancellation* cancellation,
                 Done<LentElement> done) {
  SettledList settled;
  Status ended;
  {
    MutexLock lock(mutex_);
    time_ = request.time;
    if (done_with.has_element() && done_with.queue == incarnation_) {
      QueueCore::Completions completions;
      ended = end_number(done_with.number, completions);
      take_waiters(std::move(completions), settled);
    }
  }
  answer_all(std::move(settled));
  if (!ended.ok()) return done(std::move(ended));
  auto lending = std::make_shared<Lending>(Lending{std::move(request), {}});
  start({.kind = Attempt::dequeue, .elements = {}, .count = 1, .lending = lending}, cancellation,
        [lending, done = std::move(done)](Status status, QueueBatch batch) mutable {
          if (!status.ok()) return done(std::move(status));
          done(LentElement{std::move(batch[0]), std::move(lending->given)});
        });
}

// The taker gets what is kept here as well: tensors share their buffers.
void Queue::lend_out(Lending& lending, QueueElement& element) {
  if (incarnation_ == 0) incarnation_ = time_->random().next();
  const LeaseBook::Terms terms{.holder = lending.request.holder,
                               .until = time_->clock().now() + lending.request.duration,
                               .attempts = lending.request.attempts};
  const LeaseBook::Loan loan =
      element.lent_as == 0 ? leases_.lend(terms) : leases_.lend_again(element.lent_as, terms);
  element.lent_as = loan.number;
  lent_[loan.number] = element;
  if (kept_ != nullptr) loan_is_kept_as_[loan.number] = element.kept_as;
  loans_changed_ = true;
  lending.given = {.queue = incarnation_,
                   .number = loan.number,
                   .attempt = loan.attempt,
                   .horizon = leases_.horizon(),
                   .open = leases_.open()};
  set_timer();
}

Status Queue::end_number(uint64_t number, QueueCore::Completions& completions) {
  switch (leases_.end(number)) {
    case LeaseBook::Ending::now:
      if (kept_ != nullptr) {
        QueueElement ended;
        ended.lent_as = number;
        ended.kept_as = loan_is_kept_as_.at(number);
        forget(ended);
      }
      if (lent_.erase(number) > 0) {
        core_.stay_out(1, completions);
      } else {
        core_.drop(number, completions);  // it came back, and waits for the next one
      }
      return {};
    case LeaseBook::Ending::before:
      return {};
    case LeaseBook::Ending::dead:
      return failed_precondition("element ", number, " of queue '", name_,
                                 "' came back too often and is among the dead letters; what was "
                                 "done for it does not count as done");
    case LeaseBook::Ending::never:
      break;
  }
  return invalid("queue '", name_, "' has lent ", leases_.horizon() - 1,
                 " elements and never one of number ", number);
}

Status Queue::check_own(const Lease& lease) const {
  if (lease.has_element() && lease.queue == incarnation_) return {};
  return invalid("the lease is of another queue than '", name_,
                 "', or of an earlier life of it; its elements went with that");
}

Status Queue::end_lease(const Lease& lease) {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    MR_TRY(check_own(lease));
    QueueCore::Completions completions;
    MR_TRY(end_number(lease.number, completions));
    take_waiters(std::move(completions), settled);
  }
  answer_all(std::move(settled));
  return {};
}

Result<bool> Queue::extend_lease(const Lease& lease, Clock::Duration duration) {
  MutexLock lock(mutex_);
  MR_TRY(check_own(lease));
  // Of an earlier life of the task: it has come back, and nothing was lent since.
  if (time_ == nullptr) return false;
  const bool is_held = leases_.extend(lease.number, lease.attempt, time_->clock().now() + duration);
  set_timer();  // it may end sooner than it did
  return is_held;
}

Status Queue::give_back(const Lease& lease) {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    MR_TRY(check_own(lease));
    take_back(leases_.give_back(lease.number, lease.attempt), settled);
  }
  answer_all(std::move(settled));
  return {};
}

void Queue::give_back_all_of(LeaseBook::Holder holder) {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    take_back(leases_.give_back_all_of(holder), settled);
  }
  answer_all(std::move(settled));
}

LeaseBook::Holder Queue::new_holder() {
  MutexLock lock(mutex_);
  return ++last_holder_;
}

void Queue::take_back(const LeaseBook::Returned& returned, SettledList& settled) {
  QueueCore::Completions completions;
  for (const uint64_t number : returned.dead) {
    dead_.push_back(std::move(lent_.extract(number).mapped()));
    loan_is_kept_as_.erase(number);
    loans_changed_ = true;
  }
  QueueBatch again;
  for (const uint64_t number : returned.again)
    again.push_back(std::move(lent_.extract(number).mapped()));
  if (!returned.dead.empty()) core_.stay_out(returned.dead.size(), completions);
  if (!again.empty()) core_.come_back(std::move(again), completions);
  take_waiters(std::move(completions), settled);
}

// One timer, for the lease that ends first. One that was extended meanwhile is found to be running
// still when the timer fires, which then is set anew.
void Queue::set_timer() {
  const std::optional<Clock::Time> next = leases_.next_expiry();
  if (!next || (timer_is_for_ && *timer_is_for_ <= *next)) return;
  timer_is_for_ = next;
  // The callback takes no lock, so that a timer can be replaced under it.
  timer_ = time_->timers().at(*next, [weak = weak_from_this(), time = time_] {
    time->pool().post([weak] {
      if (const auto queue = weak.lock()) queue->expire();
    });
  });
}

void Queue::expire() {
  SettledList settled;
  {
    MutexLock lock(mutex_);
    timer_is_for_.reset();
    take_back(leases_.expire(time_->clock().now()), settled);
    set_timer();
  }
  answer_all(std::move(settled));
}

std::optional<QueueElement> Queue::take_dead_letter() {
  MutexLock lock(mutex_);
  if (dead_.empty()) return std::nullopt;
  QueueElement first = std::move(dead_.front());
  dead_.pop_front();
  forget(first);
  loans_changed_ = true;
  return first;
}

void Queue::forget(const QueueElement& element) {
  if (kept_ == nullptr) return;
  kept_->gone(element);
  if (element.lent_as == 0) return;
  loan_is_kept_as_.erase(element.lent_as);
  loans_changed_ = true;
}

Queue::KeptView Queue::kept_view(KeptOrder::Changes changes) {
  KeptView view{std::move(changes), core_.is_closed(), kept_->next_number(), std::nullopt};
  if (!std::exchange(loans_changed_, false)) return view;
  view.loans = KeptLoans{.incarnation = incarnation_, .book = leases_.kept()};
  for (const LeaseBook::Kept::Open& each : view.loans->book.open)
    view.loans->elements.push_back(loan_is_kept_as_.at(each.number));
  for (const QueueElement& each : dead_) view.loans->dead.push_back(each.kept_as);
  return view;
}

void Queue::put_back(const KeptLoans& loans, std::deque<QueueElement> dead) {
  MutexLock lock(mutex_);
  incarnation_ = loans.incarnation;
  leases_ = LeaseBook(loans.book);
  for (size_t i = 0; i < loans.elements.size(); ++i)
    loan_is_kept_as_[loans.book.open[i].number] = loans.elements[i];
  dead_ = std::move(dead);
}

Queue::LeaseCounts Queue::lease_counts() const {
  MutexLock lock(mutex_);
  return {.lent = leases_.num_lent(), .dead = dead_.size()};
}

}  // namespace millrace
