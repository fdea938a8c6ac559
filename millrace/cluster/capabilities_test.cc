#include "millrace/cluster/capabilities.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a task that says nothing can do what TensorFlow's tasks can, and no more") {
  const Capabilities silent;
  CHECK(silent.empty());
  CHECK_FALSE(silent.has(Capability::tensor_parts));
  CHECK(silent.to_string() == "none");
}

TEST_CASE("a task of this version can all that has a name") {
  const Capabilities own = Capabilities::own();
  CHECK(own.has(Capability::answers_at_once));
  CHECK(own.to_string() == "tensor parts, dead values, error details, departures, answers at once");
}

TEST_CASE("the numbers of capabilities are those that older versions know") {
  CHECK(Capabilities{Capability::tensor_parts}.bits() == 1);
  CHECK(Capabilities{Capability::answers_at_once}.bits() == 16);
  CHECK(Capabilities::own().bits() == 31);
}

TEST_CASE("capabilities of a later version are kept and mean nothing here") {
  const Capabilities later = Capabilities::from_bits(uint64_t{1} << 40 | 8);
  CHECK(later.has(Capability::departures));
  CHECK(later.to_string() == "departures");
  CHECK(later.bits() == (uint64_t{1} << 40 | 8));
}

}  // namespace
}  // namespace millrace
