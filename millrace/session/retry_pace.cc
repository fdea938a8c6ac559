#include "millrace/session/retry_pace.h"

#include <algorithm>
#include <chrono>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50}, kLongestPause{1000};
constexpr int kDoublings = 5;  // until the longest

bool may_be_a_consequence(Code code) {
  return code == Code::cancelled || code == Code::aborted || code == Code::internal;
}

}  // namespace

std::optional<Clock::Duration> RetryPace::after(const Status& outcome) {
  const bool is_unclear = may_be_a_consequence(outcome.code());
  has_broken_ |= outcome.code() == Code::unavailable;
  const bool is_again = outcome.code() == Code::unavailable || (is_unclear && !was_unclear_);
  was_unclear_ = is_unclear;
  if (!is_again || left_ <= 0) return std::nullopt;
  --left_;
  if (first_.ok()) first_ = outcome;
  const int doublings = std::min(repeated_++, kDoublings);
  return std::min(kFirstPause * (1 << doublings), kLongestPause);
}

Status RetryPace::told(Status outcome) const {
  const bool is_in_the_dark =
      outcome.code() == Code::unavailable || may_be_a_consequence(outcome.code());
  if (repeated_ == 0 || !has_broken_ || !is_in_the_dark) return outcome;
  std::string text =
      str_cat("; it was made ", repeated_, repeated_ == 1 ? " time more" : " times more",
              ", and nobody knows whether its updates were made");
  if (first_ != outcome) str_append(&text, "; at first: ", first_.to_string());
  return outcome.then(text);
}

}  // namespace millrace
