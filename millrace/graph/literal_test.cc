#include "millrace/graph/literal.h"

#include "doctest/doctest.h"

namespace millrace {
namespace {

Result<Tensor> tensor_of(std::string_view text) {
  Cursor cursor(text);
  MR_ASSIGN(Tensor tensor, parse_tensor(cursor));
  if (!cursor.at_end()) return cursor.fail("something is left");
  return tensor;
}

Result<AttrValue> attr_of(std::string_view text, std::string_view kind = "") {
  Cursor cursor(text);
  MR_ASSIGN(AttrValue value, parse_attr(cursor, kind));
  if (!cursor.at_end()) return cursor.fail("something is left");
  return value;
}

TEST_CASE("a tensor is printed as it is read") {
  for (const char* text : {"3",
                           "[1, 2, 3]",
                           "1.5",
                           "1.0",
                           "true",
                           "[false, true]",
                           "\"a\\\"b\\n\"",
                           "[\"a\", \"\"]",
                           "int64 [1, 2, 3]",
                           "[[1, 2], [3, 4], [5, 6]]",
                           "float []",
                           "float [] as [0,3]",
                           "int64 [] as [2,0,5]",
                           "half [1.5, -2.0]",
                           "bfloat16 3.0",
                           "complex64 (1.0, -2.0)",
                           "complex128 [(1.0, 0.0)]",
                           "uint64 18446744073709551615",
                           "int8 [-128, 127]",
                           "double 1e+300",
                           "[inf, -inf]",
                           "qint8 hex \"00ff\"",
                           "quint16 hex \"0102\" as []",
                           "[[[1]]]",
                           "3.4028235e+38",
                           "1e-45",
                           "string []",
                           "int32 []"}) {
    CAPTURE(text);
    const auto tensor = tensor_of(text);
    REQUIRE_MESSAGE(tensor.ok(), tensor.status().to_string());
    CHECK(print_tensor(*tensor) == text);
    CHECK(*tensor_of(print_tensor(*tensor)) == *tensor);
  }
  CHECK(print_tensor(*tensor_of("[nan]")) == "[nan]");
}

TEST_CASE("the type of a tensor follows from its elements") {
  CHECK(tensor_of("[1, 2.5]")->dtype() == DType::f32);
  CHECK(tensor_of("3000000000")->dtype() == DType::f32);
  CHECK(tensor_of("int64 3000000000")->item<int64_t>() == 3000000000);
  CHECK(tensor_of("half 2")->dtype() == DType::f16);
}

TEST_CASE("a tensor that makes no sense is refused with its place") {
  const auto why = [](std::string_view text) { return tensor_of(text).status().message(); };
  CHECK(why("[1, 2") == "1:6: expected ',', found the end");
  CHECK(why("[[1], [2, 3]]") == "1:7: this list has 2 items, the first one of its axis 1");
  CHECK(why("[1, [2]]") == "1:5: expected an element here, not a list");
  CHECK(why("[[1], 2]") == "1:7: expected a list here");
  CHECK(why("int8 300") == "1:6: '300' is no int8");
  CHECK(why("[1, \"a\"]") == "1:2: '1' is no string");
  CHECK(why("[1,\n x]") == "2:2: 'x' is no float");
  CHECK(why("qint8 3") == "1:8: elements of qint8 are written as hex \"…\"");
  CHECK(why("[1, 2] as [3]") == "1:11: expected a shape of 2 elements");
  CHECK(why("\"abc") == "1:1: this string does not end");
  CHECK(why("qint32 hex \"0011\"") == "1:12: this is no whole number of qint32");
  CHECK(!tensor_of(std::string(1000, '[')).ok());
}

TEST_CASE("an attribute is printed as it is read") {
  for (const char* text : {"3",
                           "-3",
                           "1.5",
                           "inf",
                           "true",
                           "\"a b\"",
                           "float",
                           "resource",
                           "[2,?]",
                           "[]",
                           "?",
                           "{1, 2}",
                           "{1.0}",
                           "{true, false}",
                           "{float, int32}",
                           "{\"a\", \"b\"}",
                           "{[1], ?}",
                           "{}",
                           "tensor(int64 [1, 2])",
                           "{tensor(1), tensor(\"x\")}",
                           "$T",
                           "fn(a=3, b=float)",
                           "nothing"}) {
    CAPTURE(text);
    const auto value = attr_of(text);
    REQUIRE_MESSAGE(value.ok(), value.status().to_string());
    CHECK(print_attr(*value) == text);
    CHECK(*attr_of(print_attr(*value)) == *value);
  }
}

TEST_CASE("the op says what a literal means where it could mean two things") {
  CHECK(attr_of("3", "float")->kind() == "float");
  CHECK(attr_of("float", "func")->kind() == "func");
  CHECK(attr_of("{}", "list(int)")->as_list_of<int64_t>() != nullptr);
  CHECK(attr_of("{1}", "list(float)")->kind() == "list(float)");
}

TEST_CASE("an attribute that makes no sense is refused with its place") {
  const auto why = [](std::string_view text) { return attr_of(text).status().message(); };
  CHECK(why("{1, float}") == "1:1: the items of a list must be of one kind");
  CHECK(why("[2,x]") == "1:4: expected a dimension: a number or ?");
  CHECK(why("12x") == "1:1: '12x' is no number that fits");
  CHECK(why("99999999999999999999x") == "1:1: '99999999999999999999x' is no number that fits");
  CHECK(why("") == "1:1: expected a value");
  CHECK(!attr_of(std::string(1000, '{')).ok());
}

}  // namespace
}  // namespace millrace
