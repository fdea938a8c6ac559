#include "millrace/graph/control_inputs.h"

#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

// Ids that could be mistaken for addresses, or for none.
const std::vector<NodeId> kIds = {0, kNoNode - 1, 1, 0x80000000, 5, 0, 7, 8, 9};

std::vector<NodeId> first(size_t count) { return {kIds.begin(), kIds.begin() + count}; }

ControlInputs of(size_t count) {
  ControlInputs made;
  made.assign(first(count));
  return made;
}

TEST_CASE("none, one and many ids are read as they were written, in eight bytes") {
  static_assert(sizeof(ControlInputs) == 8);
  for (size_t count = 0; count <= kIds.size(); ++count) {
    ControlInputs pushed;
    for (const NodeId id : first(count)) pushed.push_back(id);
    for (const ControlInputs& made : {pushed, of(count)}) {
      CHECK(made.size() == count);
      CHECK(made.empty() == (count == 0));
      CHECK(made == first(count));
      for (size_t i = 0; i < count; ++i) CHECK(made[i] == kIds[i]);
    }
  }
}

TEST_CASE("any number of ids may take the place of any other") {
  for (size_t before = 0; before <= 4; ++before) {
    for (size_t after = 0; after <= 4; ++after) {
      ControlInputs copied = of(before), moved = of(before), assigned = of(before);
      const ControlInputs source = of(after);
      copied = source;
      moved = of(after);
      assigned.assign(first(after));
      for (const ControlInputs& made : {copied, moved, assigned, source})
        CHECK(made == first(after));
      copied.push_back(3);
      CHECK(source == first(after));
      copied.clear();
      CHECK(copied.empty());
    }
  }
}

TEST_CASE("ids can be changed in place") {
  for (const size_t count : {1, 3}) {
    ControlInputs made = of(count);
    for (NodeId& id : made) id = 42;
    CHECK(made == std::vector<NodeId>(count, 42));
    CHECK(made.front() == 42);
  }
}

}  // namespace
}  // namespace millrace
