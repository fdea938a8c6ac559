#include "millrace/cluster/capabilities.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a task that says nothing can do what TensorFlow's tasks can, and no more") {
  const Capabilities silent;
  CHECK(silent.empty());
  CHECK_FALSE(silent.has(Capability::tensor_parts));
}

TEST_CASE("a task of this version can all that has a name") {
  const Capabilities own = Capabilities::own();
  CHECK(own.has(Capability::tensor_parts));
  CHECK(own.has(Capability::dead_values));
  CHECK(own.has(Capability::error_details));
  CHECK(own.has(Capability::departures));
}

TEST_CASE("the numbers of capabilities are those that older versions know") {
  CHECK(Capabilities{Capability::tensor_parts}.bits() == 1);
  CHECK(Capabilities{Capability::departures}.bits() == 8);
  CHECK(Capabilities::own().bits() == 15);
}

TEST_CASE("capabilities of a later version are kept and mean nothing here") {
  const Capabilities later = Capabilities::from_bits(uint64_t{1} << 40 | 8);
  CHECK(later.has(Capability::departures));
  CHECK_FALSE(later.has(Capability::tensor_parts));
  CHECK(later.bits() == (uint64_t{1} << 40 | 8));
}

}  // namespace
}  // namespace millrace
