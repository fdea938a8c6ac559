#include "millrace/ops/state/lease_book.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {

LeaseBook::Loan LeaseBook::lend(const Terms& terms) {
  const Number number = next_++;
  open_[number] = {.is_lent = true, .attempt = 1, .terms = terms};
  ++num_lent_;
  return {number, 1};
}

LeaseBook::Loan LeaseBook::lend_again(Number number, const Terms& terms) {
  Entry& entry = open_.at(number);
  entry.is_lent = true;
  ++entry.attempt;
  entry.terms = terms;
  ++num_lent_;
  return {number, entry.attempt};
}

LeaseBook::Ending LeaseBook::end(Number number) {
  if (number == 0 || number >= next_) return Ending::never;
  const auto found = open_.find(number);
  if (found == open_.end())
    return std::ranges::binary_search(dead_, number) ? Ending::dead : Ending::before;
  if (found->second.is_lent) --num_lent_;
  open_.erase(found);
  return Ending::now;
}

bool LeaseBook::extend(Number number, uint32_t attempt, Clock::Time until) {
  const auto found = open_.find(number);
  if (found == open_.end() || !found->second.is_lent || found->second.attempt != attempt)
    return false;
  found->second.terms.until = until;
  return true;
}

LeaseBook::Entries::iterator LeaseBook::come_back(Entries::iterator at, Returned& returned) {
  Entry& entry = at->second;
  entry.is_lent = false;
  --num_lent_;
  if (entry.terms.attempts == 0 || entry.attempt < entry.terms.attempts) {
    returned.again.push_back(at->first);
    return std::next(at);
  }
  returned.dead.push_back(at->first);
  dead_.insert(std::ranges::lower_bound(dead_, at->first), at->first);
  return open_.erase(at);
}

LeaseBook::Returned LeaseBook::give_back(Number number, uint32_t attempt) {
  Returned returned;
  const auto found = open_.find(number);
  if (found != open_.end() && found->second.is_lent && found->second.attempt == attempt)
    come_back(found, returned);
  return returned;
}

LeaseBook::Returned LeaseBook::give_back_all_of(Holder holder) {
  Returned returned;
  for (auto at = open_.begin(); at != open_.end();) {
    const bool is_theirs = at->second.is_lent && at->second.terms.holder == holder;
    at = is_theirs ? come_back(at, returned) : std::next(at);
  }
  return returned;
}

LeaseBook::Returned LeaseBook::expire(Clock::Time now) {
  Returned returned;
  for (auto at = open_.begin(); at != open_.end();) {
    const bool is_over = at->second.is_lent && at->second.terms.until <= now;
    at = is_over ? come_back(at, returned) : std::next(at);
  }
  return returned;
}

std::optional<Clock::Time> LeaseBook::next_expiry() const {
  std::optional<Clock::Time> next;
  for (const auto& [number, entry] : open_) {
    if (!entry.is_lent) continue;
    next = next ? std::min(*next, entry.terms.until) : entry.terms.until;
  }
  return next;
}

std::vector<LeaseBook::Number> LeaseBook::open() const {
  std::vector<Number> numbers;
  numbers.reserve(open_.size());
  for (const auto& [number, entry] : open_) numbers.push_back(number);
  return numbers;
}

LeaseBook::LeaseBook(const Kept& kept) : next_(kept.next), dead_(kept.dead) {
  for (const Kept::Open& each : kept.open)
    open_[each.number] = {.is_lent = false, .attempt = each.attempt, .terms = {}};
}

LeaseBook::Kept LeaseBook::kept() const {
  Kept kept{.next = next_, .open = {}, .dead = dead_};
  kept.open.reserve(open_.size());
  for (const auto& [number, entry] : open_) kept.open.push_back({number, entry.attempt});
  return kept;
}

std::string LeaseBook::description() const {
  std::string text;
  for (const auto& [number, entry] : open_) {
    str_append(&text, text.empty() ? "" : ", ", number, entry.is_lent ? " lent a" : " returned a",
               entry.attempt);
    if (entry.is_lent) {
      const auto until = entry.terms.until.time_since_epoch();
      str_append(&text, " until ",
                 std::chrono::duration_cast<std::chrono::nanoseconds>(until).count());
    }
  }
  for (const Number number : dead_) str_append(&text, text.empty() ? "" : ", ", number, " dead");
  return str_cat(text, text.empty() ? "" : "; ", "horizon ", next_);
}

}  // namespace millrace
