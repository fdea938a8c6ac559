#include "millrace/op/infer.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::string broadcast(const PartialShape& a, const PartialShape& b) {
  const auto shape = broadcast_shapes(a, b);
  return shape.ok() ? shape->to_string() : shape.status().message();
}

TEST_CASE("shapes broadcast from the last dimension, ones stretch, unknowns stay open") {
  CHECK(broadcast({2, 3}, {3}) == "[2,3]");
  CHECK(broadcast({2, 1}, {1, 4}) == "[2,4]");
  CHECK(broadcast({}, {}) == "<unknown>");
  CHECK(broadcast(Shape(), {5}) == "[5]");
  CHECK(broadcast({kUnknownDim}, {5}) == "[5]");
  CHECK(broadcast({kUnknownDim}, {1}) == "[?]");
  CHECK(broadcast({0}, {1}) == "[0]");
  CHECK(broadcast({2, 3}, {2}) == "Incompatible shapes: [2,3] vs. [2]");
}

TEST_CASE("an input of the wrong rank is refused with its shape") {
  const OpDef op{.name = "Test", .doc = "", .signature = ""};
  const Attrs attrs;
  const std::vector<PartialShape> inputs = {{2, 3}, PartialShape::unknown()};
  const InferContext context({op, attrs}, inputs, {}, 1);
  CHECK(context.input_of_rank(0, 1).status().message() ==
        "Shape must be rank 1 but is rank 2: input 0 of Test has shape [2,3]");
  CHECK(context.input_of_rank(1, 1)->to_string() == "[?]");
  CHECK(context.constant(0) == nullptr);
}

TEST_CASE("the shared rules set what they promise") {
  const OpDef op{.name = "Test", .doc = "", .signature = ""};
  const Attrs attrs = {{"shape", PartialShape{7}}};
  const std::vector<PartialShape> inputs = {{2, 3}, {3}};
  const auto run = [&](const InferFn& rule) {
    InferContext context({op, attrs}, inputs, {}, 1);
    REQUIRE(rule(context).ok());
    return context.output(0).to_string();
  };
  CHECK(run(infer::same_as_input) == "[2,3]");
  CHECK(run(infer::broadcast) == "[2,3]");
  CHECK(run(infer::scalar) == "[]");
  CHECK(run(infer::shape_attr) == "[7]");
  CHECK(run(infer::unknown) == "<unknown>");
}

}  // namespace
}  // namespace millrace
