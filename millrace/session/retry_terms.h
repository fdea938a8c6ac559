// RetryTerms: how often a session makes a step again whose connection broke. docs/design/once.md
// tells how that neither loses nor doubles an update.
#pragma once

namespace millrace {

struct RetryTerms {
  // Of one step, one after the other, with growing pauses (retry_pace.h). 0: never, and nothing is
  // added to any graph or step.
  int times = 0;
};
inline constexpr int kMostRetries = 1'000'000;

}  // namespace millrace
