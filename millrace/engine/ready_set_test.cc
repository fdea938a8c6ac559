#include "millrace/engine/ready_set.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::vector<uint32_t> take_all(ReadySet& ready) {
  std::vector<uint32_t> taken;
  for (uint32_t number = 0; ready.take_lowest(&number);) taken.push_back(number);
  return taken;
}

TEST_CASE("ready nodes are taken by their numbers, whenever they were added") {
  ReadySet ready(1000);
  for (uint32_t number : {700, 3, 64, 63, 999, 0}) ready.add(number);
  CHECK(take_all(ready) == std::vector<uint32_t>{0, 3, 63, 64, 700, 999});
}

TEST_CASE("a node that becomes ready late is taken before those with higher numbers") {
  ReadySet ready(1000);
  ready.add(500);
  ready.add(900);
  uint32_t first = 0;
  REQUIRE(ready.take_lowest(&first));
  CHECK(first == 500);
  ready.add(17);
  CHECK(take_all(ready) == std::vector<uint32_t>{17, 900});
  ready.add(1);  // after the end
  CHECK(take_all(ready) == std::vector<uint32_t>{1});
}

TEST_CASE("a cleared set is empty and can be used again") {
  ReadySet ready(128);
  ready.add(127);
  ready.clear();
  CHECK(take_all(ready).empty());
  ready.add(127);
  CHECK(take_all(ready) == std::vector<uint32_t>{127});
}

TEST_CASE("of no nodes none is ready") {
  ReadySet none(0);
  CHECK(take_all(none).empty());
}

}  // namespace
}  // namespace millrace
