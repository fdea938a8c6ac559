#include "millrace/transport/all.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"

namespace millrace {
namespace {

TEST_CASE("a target names its transport") {
  const Transports transports(testing::test_host());
  for (const std::string_view scheme : {"grpc", "inproc"}) {
    const auto found = transports.of(str_cat(scheme, "://host:2222"));
    REQUIRE(found.ok());
    CHECK((*found)->scheme() == scheme);
  }
  CHECK(transports.between_tasks().scheme() == "grpc");
}

TEST_CASE("a target of no transport is shown with the form that it should have") {
  const Transports transports(testing::test_host());
  for (const std::string_view target :
       {"host:2222", "http://host:2222", "grp://h:1", "://h:1", "grpc:/h:1", "GRPC://h:1"}) {
    CHECK(transports.of(target).status() ==
          invalid("the target '", target, "' has not the form grpc://host:port"));
  }
}

}  // namespace
}  // namespace millrace
