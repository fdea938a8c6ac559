#include "millrace/base/runner.h"

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

using std::chrono::seconds;

TEST_CASE("the waiting thread runs what is posted, in order, until the work is finished") {
  CallerThread caller;
  std::vector<int> order;
  std::thread worker([&] {
    caller.post([&] { order.push_back(1); });
    caller.post([&] {
      order.push_back(2);
      caller.post([&] {
        order.push_back(3);
        caller.finish();
      });
    });
  });
  CHECK(caller.wait());
  CHECK(order == std::vector<int>{1, 2, 3});
  worker.join();
}

TEST_CASE("posted work runs on the thread that waits, never inside post") {
  CallerThread caller;
  std::thread::id ran_on;
  caller.post([&] { ran_on = std::this_thread::get_id(); });
  CHECK(ran_on == std::thread::id());
  caller.finish();
  CHECK(caller.wait());
  CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("a wait whose deadline has passed says so and may be repeated") {
  CallerThread caller;
  CHECK_FALSE(caller.wait(Clock::real().now()));
  bool ran = false;
  caller.post([&] { ran = true; });
  CHECK_FALSE(caller.wait(Clock::real().now()));
  CHECK(ran);
  caller.finish();
  CHECK(caller.wait(Clock::real().now() + seconds(60)));
}

TEST_CASE("a pool runs all that was posted before it goes") {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 100; ++i) pool.post([&] { ++ran; });
  }
  CHECK(ran == 100);
}

TEST_CASE("a pool runs what its tasks post while it is closing") {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(1);
    pool.post([&] {
      pool.post([&] { ++ran; });
      ++ran;
    });
  }
  CHECK(ran == 2);
}

TEST_CASE("a pool of one runs tasks in order of posting") {
  std::vector<int> order;
  {
    ThreadPool pool(1);
    for (int i = 0; i < 5; ++i) pool.post([&order, i] { order.push_back(i); });
  }
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("a pool gives every task a thread of its own up to its size") {
  constexpr int kThreads = 3;
  std::latch all_running(kThreads);
  {
    ThreadPool pool(kThreads);
    CHECK(pool.size() == kThreads);
    // Each blocks until all run: passes only if they run at the same time.
    for (int i = 0; i < kThreads; ++i) pool.post([&] { all_running.arrive_and_wait(); });
  }
  CHECK(all_running.try_wait());
}

TEST_CASE("a pool that was never used starts no thread") {
  ThreadPool pool(4);
  CHECK(ThreadPool(0).size() >= 1);
}

TEST_CASE("a task is destroyed on its thread before the pool goes") {
  auto held = std::make_shared<int>(1);
  {
    ThreadPool pool(2);
    pool.post([held] {});
  }
  CHECK(held.use_count() == 1);
}

}  // namespace
}  // namespace millrace
