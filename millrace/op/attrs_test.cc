#include "millrace/op/attrs.h"

#include <doctest/doctest.h>

#include "millrace/op/op_def.h"
#include "millrace/op/signature.h"

namespace millrace {
namespace {

OpDef op_with(std::string signature) {
  OpDef op{.name = "Test", .doc = "", .signature = std::move(signature)};
  REQUIRE(parse_signature(op).ok());
  return op;
}

TEST_CASE("attributes are kept in order of names and the last of two equal names wins") {
  const Attrs attrs = {{"b", 1}, {"a", 2}, {"b", 3}};
  REQUIRE(attrs.size() == 2);
  CHECK(attrs.begin()->first == "a");
  CHECK(attrs.find("b")->as_int()[0] == 3);
  CHECK(attrs == Attrs(std::vector<Attrs::Entry>{{"b", 1}, {"b", 3}, {"a", 2}}));
}

TEST_CASE("an erased attribute is gone and an unknown one was never there") {
  Attrs attrs = {{"a", 2}};
  attrs.erase("a");
  attrs.erase("never");
  CHECK(attrs.empty());
  CHECK(attrs.find("a") == nullptr);
}

TEST_CASE("what a node leaves out has the op's default") {
  const OpDef op = op_with("x: T -> | T: type = float, keep: bool = false");
  const Attrs attrs = {{"keep", true}};
  CHECK(*AttrView(op, attrs).type("T") == DType::f32);
  CHECK(*AttrView(op, attrs).boolean("keep") == true);
}

TEST_CASE("asking for the wrong kind names the attribute, what it is and what was asked for") {
  const OpDef op = op_with("-> | axis: int");
  CHECK(AttrView(op, {{"axis", 3}}).string("axis").status().message() ==
        "attribute 'axis' of op Test is a int, 3; expected a string");
  CHECK(AttrView(op, {}).integer("axis").status().message() ==
        "attribute 'axis' of op Test is missing; it is a int");
}

TEST_CASE("an empty list answers for every element type") {
  const OpDef op = op_with("-> | dims: list(int)");
  CHECK(AttrView(op, {{"dims", std::vector<std::string>{}}}).integers("dims")->empty());
}

TEST_CASE("check_attrs refuses wrong kinds, values outside what is allowed, and what is missing") {
  const OpDef op = op_with(
      "x: T -> | T: {float, int32}, N: int >= 2, mode: {'a', 'b'} = 'a', Ts: list(type) >= 1 = "
      "{float}");
  const auto message = [&](Attrs attrs) { return check_attrs(op, attrs).message(); };
  CHECK(message({{"T", DType::f32}, {"N", 2}}) == "");
  CHECK(message({{"T", DType::f32}, {"N", 2}, {"_newer_client", "anything"}}) == "");
  CHECK(message({{"T", DType::f32}}) == "attribute 'N' (int) of op Test is missing");
  CHECK(message({{"T", DType::f64}, {"N", 2}}) ==
        "attribute 'T' of op Test is double; expected one of float, int32");
  CHECK(message({{"T", DType::f32}, {"N", 1}}) ==
        "attribute 'N' of op Test is 1; expected at least 2");
  CHECK(message({{"T", DType::f32}, {"N", true}}) ==
        "attribute 'N' of op Test is true; expected a value of kind int, not bool");
  CHECK(message({{"T", DType::f32}, {"N", 2}, {"mode", "c"}}) ==
        "attribute 'mode' of op Test is \"c\"; expected one of 'a', 'b'");
  CHECK(message({{"T", DType::f32}, {"N", 2}, {"Ts", std::vector<DType>{}}}) ==
        "attribute 'Ts' of op Test is {}; expected a list of at least 1");
}

}  // namespace
}  // namespace millrace
