// What a node is told of the device that it runs on.
#include "doctest/doctest.h"

#include "millrace/ops/flow/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

TEST_CASE("a node is told which of the types of devices it runs on, or how many there are") {
  OpRegistry ops;
  REQUIRE(register_flow(ops).ok());
  const auto index_among = [&](std::vector<std::string> names) {
    auto outputs = run_op(ops, "DeviceIndex", {}, {{"device_names", std::move(names)}});
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return (*outputs)[0].item<int32_t>();
  };
  CHECK(index_among({"CPU", "GPU"}) == 0);
  CHECK(index_among({"TPU", "GPU", "CPU"}) == 2);
  CHECK(index_among({"TPU", "GPU"}) == 2);
  CHECK(index_among({}) == 0);
}

}  // namespace
}  // namespace millrace
