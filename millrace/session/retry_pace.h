// RetryPace: whether a call that has failed is made again, and after what pause.
//
// What a broken connection gives is UNAVAILABLE: that is tried as often as the terms say, after
// 50 ms, 100, 200 and so on, up to a second. While a connection breaks, another part of the step
// may be heard of first, which was ended because of it (CANCELLED, ABORTED, INTERNAL). As these may
// be the step's own errors as well, they are tried again once, and count when they come twice in
// succession.
//
// Knows no time or thread. Not thread-safe.
#pragma once

#include <optional>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"

namespace millrace {

class RetryPace {
 public:
  explicit RetryPace(int times) : left_(times) {}

  // How long to wait before the call that has ended so is made again; none: that is its answer.
  std::optional<Clock::Duration> after(const Status& outcome);
  int num_repeated() const { return repeated_; }
  // The first failure that was not the answer; OK if there is none.
  const Status& first() const { return first_; }

  // An answer, after what was tried: if a connection broke, one that leaves in the dark what was
  // done says so.
  Status told(Status outcome) const;

 private:
  int left_;
  int repeated_ = 0;
  bool was_unclear_ = false;  // the one before
  bool has_broken_ = false;   // a connection, as far as is known
  Status first_;
};

}  // namespace millrace
