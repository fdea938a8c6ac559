#include "millrace/train/first_values.h"

#include <doctest/doctest.h>

#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using testing::Model;

TEST_CASE("the chief gives values once, and leaves alone what has some") {
  Model model;
  const Variable w = model.root.variable("w", 1.0);
  const FirstValues first(model.root);
  const Output changed(model.root.scope().add("AssignAdd", {w.reference, w.initial_value}, {}), 0);
  REQUIRE(model.session->extend(model.graph).ok());
  REQUIRE(first.give(*model.session).ok());
  CHECK(model.run(changed).item<float>() == 2.0F);
  REQUIRE(first.give(*model.session).ok());
  CHECK(model.run(w).item<float>() == 2.0F);
  CHECK(first.wait(*model.session, Clock::real(), milliseconds(0)).ok());
}

TEST_CASE("who waits in vain hears for what") {
  Model model;
  model.root.variable("w", 1.0);
  const Variable b = model.root.variable("b", 1.0);
  const FirstValues first(model.root);
  REQUIRE(model.session->extend(model.graph).ok());
  model.perform(b.initializer);
  const Status late = first.wait(*model.session, Clock::real(), milliseconds(0));
  CHECK(late.code() == Code::deadline_exceeded);
  CHECK(late.message().find("variables had no values after 0 ms: 'w'; does the chief run") !=
        std::string::npos);
}

}  // namespace
}  // namespace millrace
