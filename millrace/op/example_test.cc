#include "millrace/op/testing/example.h"

#include <doctest/doctest.h>

#include "millrace/op/signature.h"

namespace millrace {
namespace {

OpDef test_op() {
  OpDef op{.name = "Test", .doc = "", .signature = "-> | keep: bool = false, dims: list(int) = {}"};
  REQUIRE(parse_signature(op).ok());
  return op;
}

TEST_CASE("an example gives inputs, outputs and attributes") {
  const auto example =
      parse_example(test_op(), "[[1 2] [3 -4]], 1.5 -> true | keep = true, dims = {1, 2}");
  REQUIRE(example.ok());
  REQUIRE(example->inputs.size() == 2);
  CHECK(*example->inputs[0].as(DType::i32) == Tensor::of<int32_t>({2, 2}, {1, 2, 3, -4}));
  CHECK(*example->inputs[1].as(DType::f32) == Tensor::scalar(1.5f));
  CHECK(*example->outputs[0].as(DType::boolean) == Tensor::scalar(true));
  CHECK(*example->attrs.find("keep")->as_bool());
  CHECK(example->attrs.find("dims")->as_list_of<int64_t>()->size() == 2);
}

TEST_CASE("texts are strings, numbers may be") {
  const auto example = parse_example(test_op(), "['a' 'b c'], [1.5], []");
  REQUIRE(example.ok());
  CHECK(*example->inputs[0].as(DType::string) == Tensor::vector<std::string>({"a", "b c"}));
  CHECK(*example->inputs[1].as(DType::string) == Tensor::vector<std::string>({"1.5"}));
  CHECK(example->inputs[2].as(DType::f32)->shape() == Shape{0});
  CHECK_FALSE(example->inputs[0].as(DType::f32).ok());
  CHECK_FALSE(example->has_outputs);
}

TEST_CASE("infinities and what is not a number have their usual names") {
  const auto example = parse_example(test_op(), "[inf -inf nan] -> -1");
  REQUIRE(example.ok());
  CHECK(example->inputs[0].numbers[1] == -std::numeric_limits<double>::infinity());
  CHECK(example->outputs[0].numbers[0] == -1);
}

TEST_CASE("a bad example is pointed at") {
  const auto message = [](std::string_view text) {
    return parse_example(test_op(), text).status().message();
  };
  CHECK(message("[[1 2] [3]]") ==
        "example '[[1 2] [3]]' of op Test, column 12: expected rows of one length, found the end");
  CHECK(
      message("1 | no = 3") ==
      "example '1 | no = 3' of op Test, column 5: expected an attribute of the op, found 'no = 3'");
  CHECK(message("[1") == "example '[1' of op Test, column 3: expected a value, found the end");
}

}  // namespace
}  // namespace millrace
