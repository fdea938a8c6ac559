#include "millrace/graph/validate.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;

TEST_CASE("an empty graph is valid") { CHECK(validate(Graph(test_ops())).ok()); }

TEST_CASE("an input that was never set is named") {
  Graph graph(test_ops());
  REQUIRE(graph
              .add_with_back_edges(
                  {.name = "n", .op = "Identity", .inputs = {{}}, .attrs = {{"T", DType::f32}}})
              .ok());
  CHECK(validate(graph).message() == "{{node n}}: input 0 is not connected");
}

TEST_CASE("a cycle that is no loop is refused") {
  CHECK(validate(graph_of("a = NoOp() ^b  b = NoOp() ^a")).code() == Code::invalid_argument);
  CHECK(validate(graph_of("a = NoOp() ^a")).code() == Code::invalid_argument);
}

TEST_CASE("transfer nodes must name what they carry and where to") {
  const auto send = [](std::string_view tensor, std::string_view device) {
    return validate(
        graph_of(str_cat("a = Const(1)  s = _Send(a, tensor_name=\"", tensor, "\", send_device=\"",
                         device, "\", send_device_incarnation=1, recv_device=\"", device, "\")")));
  };
  CHECK(send("a:0", "/job:a/replica:0/task:0/device:CPU:0").ok());
  CHECK(send("", "/job:a").message() == "{{node s}} (_Send): attribute 'tensor_name' is empty");
  CHECK(send("a;b", "/job:a").message() ==
        "{{node s}} (_Send): attribute 'tensor_name' is \"a;b\"; it must not contain ';'");
}

}  // namespace
}  // namespace millrace
