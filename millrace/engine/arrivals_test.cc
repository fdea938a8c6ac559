#include "millrace/engine/arrivals.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a node is ready with its last input and dead if any input was") {
  Arrivals alive = Arrivals::of_ordinary(2);
  CHECK_FALSE(alive.value());
  CHECK(alive.value());
  CHECK_FALSE(alive.is_dead());

  Arrivals dead = Arrivals::of_ordinary(3);
  CHECK_FALSE(dead.death());
  CHECK_FALSE(dead.value());
  CHECK(dead.value());
  CHECK(dead.is_dead());
}

TEST_CASE("a Merge is ready with the first value, and once only") {
  Arrivals merge = Arrivals::of_merge(3, 0);
  CHECK_FALSE(merge.merge_death());
  CHECK(merge.merge_value());
  CHECK_FALSE(merge.merge_value());
  CHECK_FALSE(merge.merge_death());
  CHECK_FALSE(merge.is_dead());
}

TEST_CASE("a Merge of only dead inputs is dead with the last of them") {
  Arrivals merge = Arrivals::of_merge(2, 0);
  CHECK_FALSE(merge.merge_death());
  CHECK(merge.merge_death());
  CHECK(merge.is_dead());
}

TEST_CASE("a Merge waits for its control inputs, before or after its value") {
  Arrivals first = Arrivals::of_merge(1, 1);
  CHECK_FALSE(first.merge_control());
  CHECK(first.merge_value());

  Arrivals last = Arrivals::of_merge(1, 1);
  CHECK_FALSE(last.merge_value());
  CHECK(last.merge_control());
}

TEST_CASE("a Merge that heads a loop is dead as soon as its Enter is") {
  Arrivals merge = Arrivals::of_merge(2, 0);
  CHECK(merge.merge_loop_death());
  CHECK(merge.is_dead());
  CHECK_FALSE(merge.merge_death());
}

}  // namespace
}  // namespace millrace
