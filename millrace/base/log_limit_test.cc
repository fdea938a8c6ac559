#include "millrace/base/log_limit.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"

namespace millrace {
namespace {

using std::chrono::seconds;

TEST_CASE("of lines that repeat one per interval goes through, and counts the others") {
  FakeClock clock;
  Metrics metrics;
  LogLimit limit(seconds(10), clock, metrics);
  CHECK(limit.next() == 0);
  for (int i = 0; i < 41; ++i) CHECK(limit.next() == std::nullopt);
  clock.advance(seconds(9));
  CHECK(limit.next() == std::nullopt);
  clock.advance(seconds(1));
  CHECK(limit.next() == 42);
  CHECK(metrics.value(Counter::log_lines_left_out) == 42);
  clock.advance(seconds(10));
  CHECK(limit.next() == 0);
}

TEST_CASE("what was left out is told in words") {
  CHECK(LogLimit::note(0).empty());
  CHECK(LogLimit::note(1) == " (and 1 time more since the last such line)");
  CHECK(LogLimit::note(42) == " (and 42 times more since the last such line)");
}

}  // namespace
}  // namespace millrace
