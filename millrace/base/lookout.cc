#include "millrace/base/lookout.h"

#include <sched.h>

#include <algorithm>

namespace millrace {
namespace {

// A sleep of so long might have been none: twice the time that waking takes is in it.
constexpr std::chrono::microseconds kShortSleep{200};

}  // namespace

bool Lookout::finds(absl::FunctionRef<bool()> look) {
  if (!would_look()) return false;
  const Now until = std::chrono::steady_clock::now() + longest_;
  do {
    if (look()) {
      confidence_ = std::min(confidence_ + 1, kMostConfidence);
      return true;
    }
    ::sched_yield();
  } while (std::chrono::steady_clock::now() < until);
  confidence_ -= 2;
  return false;
}

void Lookout::has_slept(Now now) {
  const bool was_short = now - since_ < kShortSleep;
  confidence_ = was_short ? std::min(confidence_ + 1, kMostConfidence) : 0;
}

}  // namespace millrace
