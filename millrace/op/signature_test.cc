#include "millrace/op/signature.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

OpDef parsed(std::string signature) {
  OpDef op{.name = "Test", .doc = "", .signature = std::move(signature)};
  const Status status = parse_signature(op);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  return op;
}

std::string message(std::string signature) {
  OpDef op{.name = "Test", .doc = "", .signature = std::move(signature)};
  return parse_signature(op).message();
}

TEST_CASE("arguments are fixed types, attributes, lists, counted lists and references") {
  const OpDef op = parsed(
      "a: int32, b: T, c: N*T, d: N*string, e: Ts, f: ref(T), g: N*ref(float) -> y: T"
      " | T: type, N: int >= 1, Ts: list(type)");
  REQUIRE(op.inputs.size() == 7);
  CHECK(op.inputs[0].dtype == DType::i32);
  CHECK(op.inputs[1].type_attr == "T");
  CHECK(op.inputs[2].number_attr == "N");
  CHECK(op.inputs[2].type_attr == "T");
  CHECK(op.inputs[3].dtype == DType::string);
  CHECK(op.inputs[4].type_list_attr == "Ts");
  CHECK(op.inputs[5].is_ref);
  CHECK(op.inputs[6].is_ref);
  CHECK(op.inputs[6].dtype == DType::f32);
  CHECK(op.outputs[0].name == "y");
  CHECK(*op.attrs[1].minimum == 1);
}

TEST_CASE("an op may have no inputs, no outputs and no attributes") {
  const OpDef op = parsed(" -> ");
  CHECK(op.inputs.empty());
  CHECK(op.outputs.empty());
  CHECK(op.attrs.empty());
}

TEST_CASE("attributes have kinds, choices and defaults") {
  const OpDef op = parsed(
      "-> | a: int = -1, b: float = 0.5, c: bool = true, d: string = 'x y', e: shape = [2,?], f: "
      "shape = ?,"
      " g: list(int) = {}, h: list(type) = {float, int32}, i: {int32, int64} = int32,"
      " j: {'first', 'second'} = 'first', k: list(shape) = {}, l: floating, m: number, n: "
      "list({int32, int64}) >= 1,"
      " o: tensor, p: func, q: shape = [], r: list(string) = {}, s: {floating, bool}");
  const auto text = [&](int i) { return op.attrs[i].default_value->to_string(); };
  CHECK(text(0) == "-1");
  CHECK(text(1) == "0.5");
  CHECK(text(2) == "true");
  CHECK(*op.attrs[3].default_value->as_string() == "x y");
  CHECK(*op.attrs[4].default_value->as_shape() == PartialShape{2, kUnknownDim});
  CHECK_FALSE(op.attrs[5].default_value->as_shape()->has_rank());
  CHECK(op.attrs[6].default_value->as_list_of<int64_t>()->empty());
  CHECK(op.attrs[7].default_value->as_list_of<DType>()->size() == 2);
  CHECK(op.attrs[8].allowed_types == std::vector<DType>{DType::i32, DType::i64});
  CHECK(op.attrs[9].allowed_strings == std::vector<std::string>{"first", "second"});
  CHECK(op.attrs[10].kind == "list(shape)");
  CHECK(op.attrs[11].allowed_types.size() == 4);
  CHECK(op.attrs[12].allowed_types.size() == 14);
  CHECK(op.attrs[13].kind == "list(type)");
  CHECK(op.attrs[13].allowed_types.size() == 2);
  CHECK(*op.attrs[13].minimum == 1);
  CHECK_FALSE(op.attrs[14].default_value);
  CHECK(op.attrs[16].default_value->as_shape()->rank() == 0);
  CHECK(op.attrs[18].allowed_types ==
        std::vector<DType>{DType::bf16, DType::f16, DType::f32, DType::f64, DType::boolean});
}

TEST_CASE("an error gives the column and what was expected there") {
  CHECK(message("x float -> y: float") ==
        "signature of op Test, column 3: expected ':' after the argument's name, found 'float -> "
        "y: '");
  CHECK(message("x: float") ==
        "signature of op Test, column 9: expected ',' or '->' after the inputs, found the end");
  CHECK(message("x: U -> ") ==
        "signature of op Test, column 4: expected a type or a type attribute, found 'U -> '");
  CHECK(message("x: N*float -> ") ==
        "signature of op Test, column 4: expected an int attribute, found 'N*float -> '");
  CHECK(message("x: T, x: T -> | T: type") ==
        "signature of op Test, column 7: expected a name that is not taken yet, found 'x: T -> | "
        "T:'");
  CHECK(message("-> | T: typo") ==
        "signature of op Test, column 9: expected a kind (type, int, float, bool, string, shape, "
        "tensor, "
        "func, list(...), {...}), found 'typo'");
  CHECK(message("-> | n: int = x") ==
        "signature of op Test, column 15: expected a whole number, found 'x'");
  CHECK(message("-> | s: string = 'open") ==
        "signature of op Test, column 18: expected a text in single quotes, found ''open'");
  CHECK(message("-> | t: tensor = 3") ==
        "signature of op Test, column 18: expected nothing, because there is no literal of kind "
        "tensor, found '3'");
  CHECK(message("-> ; ") == "signature of op Test, column 4: expected ',' or the end, found '; '");
}

TEST_CASE("a default of kind tensor is a list of bytes") {
  OpDef op{.name = "Test", .signature = "-> | colour: tensor = bytes[255,0,7]"};
  REQUIRE(parse_signature(op).ok());
  const Tensor* colour = op.attrs[0].default_value->as_tensor();
  REQUIRE(colour != nullptr);
  CHECK(colour->dtype() == DType::u8);
  CHECK(colour->flat<uint8_t>()[2] == 7);
  OpDef wrong{.name = "Test", .signature = "-> | colour: tensor = bytes[256]"};
  CHECK(parse_signature(wrong).code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
