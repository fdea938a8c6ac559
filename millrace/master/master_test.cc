// What the parts of a master say by themselves. What masters say to workers and clients is in the
// plays of tests/simulation.
#include <doctest/doctest.h>

#include "millrace/master/early_end.h"
#include "millrace/master/roll.h"

namespace millrace {
namespace {

TEST_CASE("a client is told what is missing before it stops listening") {
  using std::chrono::milliseconds;
  const Clock::Time now = Clock::real().now();
  CHECK(EarlyEnd::in_time_for(now + milliseconds(60'000), now) == now + milliseconds(59'500));
  CHECK(EarlyEnd::in_time_for(now + milliseconds(1'000), now) == now + milliseconds(900));
  CHECK(EarlyEnd::in_time_for(now, now) == now);
  CHECK(EarlyEnd::in_time_for(now - milliseconds(10), now) == now - milliseconds(10));
}

TEST_CASE("a reminder names who is missing, where, and what was found there") {
  CHECK(
      reminder("CreateSession", {{"ps", 0, 0}, "ps0:2222"}, unavailable("connection refused")) ==
      "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0 at ps0:2222 "
      "(UNAVAILABLE: connection refused)");
}

}  // namespace
}  // namespace millrace
