// BoundedRunner: no more of its tasks at a time than it has places, and all of them in the end.
#include "millrace/base/bounded_runner.h"

#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/held_tasks.h"

namespace millrace {
namespace {

TEST_CASE("as many tasks as there are places reach the other runner, the rest follow in order") {
  testing::HeldTasks threads;
  BoundedRunner bounded(threads, 2);
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) bounded.post([&order, i] { order.push_back(i); });
  CHECK(threads.size() == 2);
  // The first thread to be free takes what waits, the second finds nothing.
  threads.run_first();
  CHECK(order == std::vector<int>{0, 2, 3, 4});
  threads.run_first();
  CHECK(order == std::vector<int>{0, 2, 3, 4, 1});
  CHECK(threads.size() == 0);
  bounded.post([&order] { order.push_back(5); });
  bounded.post([&order] { order.push_back(6); });
  CHECK(threads.size() == 2);
}

TEST_CASE("a task may post more, which waits for its place like any other") {
  testing::HeldTasks threads;
  BoundedRunner bounded(threads, 1);
  std::vector<int> order;
  bounded.post([&] {
    bounded.post([&order] { order.push_back(2); });
    order.push_back(1);
  });
  CHECK(threads.size() == 1);
  threads.run_first();
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("what waits runs although the bounded runner is gone") {
  testing::HeldTasks threads;
  int runs = 0;
  std::optional<BoundedRunner> bounded(std::in_place, threads, 1);
  for (int i = 0; i < 3; ++i) bounded->post([&runs] { ++runs; });
  bounded.reset();
  threads.run_first();
  CHECK(runs == 3);
}

}  // namespace
}  // namespace millrace
