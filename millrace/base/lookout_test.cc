#include "millrace/base/lookout.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

struct Waiter {
  void sleep(std::chrono::microseconds length) {
    lookout.begins_to_sleep(now);
    now += length;
    lookout.has_slept(now);
  }
  // How often it looks, if there is nothing before `found_at`.
  int looks(int found_at) {
    int count = 0;
    found = lookout.finds([&] { return ++count >= found_at; });
    return count;
  }

  Lookout lookout;
  Lookout::Now now{};
  bool found = false;
};

constexpr std::chrono::microseconds kShort{80};
constexpr std::chrono::milliseconds kLong{5};
constexpr int kNever = 1'000'000'000;

TEST_CASE("who has not waited yet sleeps at once") {
  Waiter waiter;
  CHECK(waiter.looks(1) == 0);
  CHECK_FALSE(waiter.found);
}

TEST_CASE("who has slept shortly some times looks first, and finds") {
  Waiter waiter;
  for (int i = 0; i < 4; ++i) {
    CHECK(waiter.looks(1) == 0);
    waiter.sleep(kShort);
  }
  CHECK(waiter.looks(1) == 1);
  CHECK(waiter.found);
}

TEST_CASE("who has looked in vain sleeps, until sleeps are short again") {
  Waiter waiter;
  for (int i = 0; i < 4; ++i) waiter.sleep(kShort);
  CHECK(waiter.looks(kNever) > 0);
  CHECK_FALSE(waiter.found);
  CHECK(waiter.looks(1) == 0);
  for (int i = 0; i < 2; ++i) waiter.sleep(kShort);
  CHECK(waiter.looks(1) == 1);
}

TEST_CASE("who begins with confidence looks at once") {
  Waiter waiter{.lookout = Lookout::confident(std::chrono::microseconds(10))};
  CHECK(waiter.looks(1) == 1);
  CHECK(waiter.looks(kNever) > 0);
  CHECK_FALSE(waiter.found);
}

TEST_CASE("a long sleep ends all confidence") {
  Waiter waiter;
  for (int i = 0; i < 20; ++i) waiter.sleep(kShort);
  waiter.sleep(kLong);
  CHECK(waiter.looks(1) == 0);
}

}  // namespace
}  // namespace millrace
