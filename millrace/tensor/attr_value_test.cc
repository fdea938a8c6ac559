#include "millrace/tensor/attr_value.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("an attribute value knows what it holds") {
  CHECK(AttrValue().kind() == "nothing");
  CHECK_FALSE(AttrValue().has_value());
  CHECK(AttrValue("x").kind() == "string");
  CHECK(AttrValue(3).kind() == "int");
  CHECK(AttrValue(1.5f).kind() == "float");
  CHECK(AttrValue(true).kind() == "bool");
  CHECK(AttrValue(DType::f32).kind() == "type");
  CHECK(AttrValue(Shape{2}).kind() == "shape");
  CHECK(AttrValue(Tensor::scalar(1)).kind() == "tensor");
  CHECK(AttrValue(FunctionRef{"f", {}}).kind() == "func");
  CHECK(AttrValue(AttrPlaceholder{"T"}).kind() == "placeholder");
  CHECK(AttrValue(std::vector<int64_t>{1}).kind() == "list(int)");
  CHECK(AttrValue(std::vector<bool>{true}).kind() == "list(bool)");
  CHECK(AttrValue(std::vector<int64_t>{}).kind() == "list()");
}

TEST_CASE("only the accessor of the right kind answers") {
  const AttrValue value(3);
  CHECK(*value.as_int() == 3);
  CHECK(value.as_float() == nullptr);
  CHECK(value.as_string() == nullptr);
  CHECK(value.as_list() == nullptr);
  CHECK(*AttrValue("x").as_string() == "x");
}

TEST_CASE("an empty list answers for every element type") {
  const AttrValue empty(std::vector<float>{});
  CHECK(empty.as_list_of<int64_t>()->empty());
  CHECK(empty.as_list_of<std::string>()->empty());
  CHECK(empty == AttrValue(std::vector<DType>{}));
  const AttrValue ints(std::vector<int64_t>{1, 2});
  CHECK(ints.as_list_of<int64_t>()->size() == 2);
  CHECK(ints.as_list_of<float>() == nullptr);
  CHECK_FALSE(ints == empty);
}

TEST_CASE("values compare by content, functions without regard to the order of their attributes") {
  CHECK(AttrValue("x") == AttrValue("x"));
  CHECK_FALSE(AttrValue("x") == AttrValue("y"));
  CHECK_FALSE(AttrValue(1) == AttrValue(1.0f));
  CHECK(AttrValue(Tensor::vector<float>({1, 2})) == AttrValue(Tensor::vector<float>({1, 2})));
  CHECK(AttrValue(FunctionRef{"f", {{"a", 1}, {"b", 2}}}) ==
        AttrValue(FunctionRef{"f", {{"b", 2}, {"a", 1}}}));
  CHECK_FALSE(AttrValue(FunctionRef{"f", {{"a", 1}}}) == AttrValue(FunctionRef{"f", {{"a", 2}}}));
}

TEST_CASE("values print as in the text form of graphs") {
  CHECK(AttrValue(3).to_string() == "3");
  CHECK(AttrValue(1.5f).to_string() == "1.5");
  CHECK(AttrValue(1.0f).to_string() == "1.0");
  CHECK(AttrValue(1e20f).to_string() == "1e+20");
  CHECK(AttrValue(true).to_string() == "true");
  CHECK(AttrValue("a\"b").to_string() == "\"a\\\"b\"");
  CHECK(AttrValue(DType::f32).to_string() == "float");
  CHECK(AttrValue(PartialShape{2, kUnknownDim}).to_string() == "[2,?]");
  CHECK(AttrValue(std::vector<int64_t>{1, 2}).to_string() == "{1, 2}");
  CHECK(AttrValue(std::vector<bool>{true, false}).to_string() == "{true, false}");
  CHECK(AttrValue(Tensor::vector<int32_t>({1, 2})).to_string() == "tensor(int32[2] 1 2)");
  CHECK(AttrValue(FunctionRef{"f", {{"T", DType::f32}}}).to_string() == "f(T=float)");
  CHECK(AttrValue(AttrPlaceholder{"T"}).to_string() == "$T");
}

}  // namespace
}  // namespace millrace
