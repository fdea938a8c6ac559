#include "millrace/base/timer.h"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/random.h"
#include "millrace/base/testing/fake_clock.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST_CASE("timers fire in order of time, not of setting") {
  TimerQueue queue;
  std::vector<int> order;
  std::latch fired(3);
  const auto now = Clock::real().now();
  auto fire = [&](int which) {
    return [&order, &fired, which] {
      order.push_back(which);
      fired.count_down();
    };
  };
  const auto third = queue.at(now + milliseconds(30), fire(3));
  const auto second = queue.at(now + milliseconds(20), fire(2));
  const auto first = queue.at(now, fire(1));
  fired.wait();
  CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("timers of the same time fire in order of setting") {
  TimerQueue queue;
  std::vector<int> order;
  std::latch fired(2);
  const auto when = Clock::real().now() + milliseconds(10);
  const auto first = queue.at(when, [&] { order.push_back(1), fired.count_down(); });
  const auto second = queue.at(when, [&] { order.push_back(2), fired.count_down(); });
  fired.wait();
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("a cancelled timer never fires") {
  std::atomic<bool> fired = false;
  TimerQueue queue;
  auto timer = queue.at(Clock::real().now() + milliseconds(5), [&] { fired = true; });
  timer.cancel();
  {
    const auto scoped = queue.at(Clock::real().now() + milliseconds(5), [&] { fired = true; });
  }
  std::latch later(1);
  const auto after = queue.at(Clock::real().now() + milliseconds(10), [&] { later.count_down(); });
  later.wait();
  CHECK_FALSE(fired);
}

TEST_CASE("cancelling waits for a callback that is running") {
  std::latch entered(1);
  std::atomic<bool> finished = false;
  TimerQueue queue;
  auto timer = queue.at(Clock::real().now(), [&] {
    entered.count_down();
    std::this_thread::yield();
    finished = true;
  });
  entered.wait();
  timer.cancel();
  CHECK(finished);
}

TEST_CASE("a callback may cancel its own timer and set another") {
  std::latch done(1);
  TimerQueue queue;
  TimerQueue::Timer first;
  TimerQueue::Timer second;
  std::latch set(1);
  first = queue.at(Clock::real().now(), [&] {
    set.wait();
    first.cancel();
    second = queue.at(Clock::real().now(), [&] { done.count_down(); });
  });
  set.count_down();
  done.wait();
  second.cancel();
}

TEST_CASE("timers that have not fired when the queue goes never do") {
  bool fired = false;
  TimerQueue queue;
  {
    auto timer = queue.at(Clock::real().now() + hours(1), [&] { fired = true; });
  }
  CHECK_FALSE(fired);
}

TEST_CASE("a fake clock stands still until it is told to move") {
  FakeClock clock;
  const auto start = clock.now();
  const auto wall = clock.wall_micros();
  CHECK(clock.now() == start);
  clock.advance(milliseconds(3));
  CHECK(clock.now() - start == milliseconds(3));
  CHECK(clock.wall_micros() - wall == 3000);
}

TEST_CASE("seeded randomness repeats, real randomness does not, neither is ever zero") {
  SeededRandom a(7);
  SeededRandom b(7);
  for (int i = 0; i < 10; ++i) {
    const uint64_t number = a.next();
    CHECK(number == b.next());
    CHECK(number != 0);
  }
  CHECK(make_random()->next() != make_random()->next());
}

}  // namespace
}  // namespace millrace
