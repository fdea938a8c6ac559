#include "millrace/master/once_book.h"

#include <algorithm>
#include <utility>

namespace millrace {

uint64_t OnceBook::take_number(uint64_t signature) {
  const auto again =
      std::ranges::find(failed_, signature, [](const auto& each) { return each.second; });
  const uint64_t number = again == failed_.end() ? next_++ : again->first;
  if (again != failed_.end()) failed_.erase(again);
  running_.push_back({number, signature});
  return number;
}

bool OnceBook::ends_running(uint64_t number) {
  const auto found = std::ranges::find(running_, number, &Numbered::number);
  if (found == running_.end()) return false;
  *found = running_.back();
  running_.pop_back();
  return true;
}

uint64_t OnceBook::settled() const {
  uint64_t first = next_;
  for (const Numbered& each : running_) first = std::min(first, each.number);
  if (!failed_.empty()) first = std::min(first, failed_.begin()->first);
  return first;
}

Result<OnceBook::Step> OnceBook::begin(Kind kind, uint64_t signature) {
  std::string lease;
  MR_ASSIGN(const Mark mark, begin(kind, signature, &lease));
  return Step{mark, std::move(lease)};
}

Result<OnceBook::Mark> OnceBook::begin(Kind kind, uint64_t signature, std::string* lease) {
  if (kind == Kind::takes) {
    if (is_taking_) {
      return unimplemented(
          "two steps dequeue at the same time in one session that counts once, where a dequeue "
          "acknowledges the element before; give each thread a session of its own");
    }
    is_taking_ = true;
  }
  Mark step{.kind = kind, .life = life_, .number = 0, .signature = signature};
  if (lease_.has_element()) {
    step.number = take_number(signature);
    lease_.step = step.number;
    lease_.settled = settled();
  }
  encode_lease(lease_, lease);
  return step;
}

void OnceBook::end_update(const Mark& step, const Status& outcome) {
  if (step.life == life_ && ends_running(step.number) && !outcome.ok())
    failed_.emplace(step.number, step.signature);
}

Result<std::string> OnceBook::end(const Mark& step, const Status& outcome, std::string_view after) {
  const bool takes = step.kind == Kind::takes;
  if (takes) is_taking_ = false;
  end_update(step, outcome);
  if (!takes || step.life != life_) return std::string();
  if (!outcome.ok()) {
    is_finished_ = true;
    // What came back too often can't be acknowledged, and need not be.
    if (outcome.code() == Code::failed_precondition) lease_ = {};
    return std::string();
  }
  Lease& next = last_lease_;
  MR_TRY(decode_lease(after, next));
  if (next.queue == lease_.queue && next.number == lease_.number &&
      next.attempt == lease_.attempt) {
    return std::string();  // the dequeue was not run: a conditional's branch that was not taken
  }
  std::string left;
  if (lease_.has_element() && next.queue != lease_.queue) left = encode_lease(lease_);
  std::swap(lease_, next);
  ++life_;
  is_finished_ = false;
  next_ = 1;  // 0 was the step that took
  running_.clear();
  failed_.clear();
  return left;
}

std::optional<OnceBook::Held> OnceBook::held() const {
  if (!lease_.has_element() || is_finished_) return std::nullopt;
  return Held{encode_lease(lease_), life_};
}

}  // namespace millrace
