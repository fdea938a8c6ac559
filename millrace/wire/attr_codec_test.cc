#include "millrace/wire/attr_codec.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/wire/graph.pb.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire {
namespace {

constexpr int kField = 1;

std::string encode(const AttrValue& value) {
  std::string field;
  put_attr_value(&field, kField, value);
  Reader reader(field);
  Field read;
  REQUIRE(reader.next(&read));
  return std::string(read.bytes);
}

Result<AttrValue> decode(std::string_view bytes) {
  AttrContext context{DecodeLimits()};
  AttrValue value;
  MR_TRY(read_attr_value(Reader(bytes), context, 0, &value));
  return value;
}

Result<AttrValue> decode(const tensorflow::AttrValue& message) {
  return decode(message.SerializeAsString());
}

const std::vector<AttrValue>& samples() {
  static const std::vector<AttrValue> kSamples = {
      AttrValue(),
      "text",
      "",
      std::string("\0\xff", 2),
      7,
      -7,
      0,
      1.5f,
      0.0f,
      true,
      false,
      DType::f32,
      DType::invalid,
      PartialShape{2, kUnknownDim},
      PartialShape(),
      Shape(),
      Tensor::vector<int32_t>({1, 2, 3}),
      Tensor::vector<std::string>({"a", ""}),
      AttrPlaceholder{"T"},
      FunctionRef{"f", {{"T", DType::f32}, {"g", FunctionRef{"inner", {}}}}},
      std::vector<std::string>{"a", ""},
      std::vector<int64_t>{1, -1, 300},
      std::vector<float>{1, -2.5f},
      std::vector<bool>{true, false, true},
      std::vector<DType>{DType::f32, DType::string},
      std::vector<PartialShape>{PartialShape{1}, PartialShape()},
      std::vector<Tensor>{Tensor::scalar(1), Tensor::scalar(std::string("x"))},
      std::vector<FunctionRef>{{"f", {}}, {"g", {{"n", 1}}}},
      std::vector<int64_t>{},
  };
  return kSamples;
}

TEST_CASE("attribute values of every kind survive a round trip") {
  for (const AttrValue& value : samples()) {
    CAPTURE(value.to_string());
    const AttrValue back = decode(encode(value)).value();
    CHECK(back == value);
    CHECK(back.kind() == value.kind());
  }
}

TEST_CASE("protobuf reads what we write, and we read what protobuf writes") {
  for (const AttrValue& value : samples()) {
    CAPTURE(value.to_string());
    tensorflow::AttrValue message;
    REQUIRE(message.ParseFromString(encode(value)));
    CHECK(decode(message).value() == value);
  }
}

TEST_CASE("the case that is set is what protobuf sees") {
  tensorflow::AttrValue message;
  REQUIRE(message.ParseFromString(encode(std::vector<int64_t>{1, 2})));
  CHECK(message.list().i_size() == 2);
  REQUIRE(message.ParseFromString(encode(std::vector<int64_t>{})));
  CHECK(message.value_case() == tensorflow::AttrValue::kList);
  REQUIRE(message.ParseFromString(encode(false)));
  CHECK(message.value_case() == tensorflow::AttrValue::kB);
  REQUIRE(message.ParseFromString(encode(PartialShape())));
  CHECK(message.shape().unknown_rank());
  REQUIRE(message.ParseFromString(encode(FunctionRef{"f", {{"T", DType::i32}}})));
  CHECK(message.func().attr().at("T").type() == tensorflow::DT_INT32);
}

TEST_CASE("lists written one by one are read like packed ones") {
  // list { i: 1 i: 2 }, unpacked
  CHECK(decode(testing::from_hex("0a 04 18 01 18 02")).value() ==
        AttrValue(std::vector<int64_t>{1, 2}));
  // list { f: 1.0 }, unpacked
  CHECK(decode(testing::from_hex("0a 05 25 00 00 80 3f")).value() ==
        AttrValue(std::vector<float>{1.0f}));
}

TEST_CASE("a reference type is read as its base type") {
  tensorflow::AttrValue message;
  message.set_type(tensorflow::DT_FLOAT_REF);
  CHECK(decode(message).value() == AttrValue(DType::f32));
  message.mutable_list()->add_type(tensorflow::DT_STRING_REF);
  CHECK(decode(message).value() == AttrValue(std::vector<DType>{DType::string}));
}

TEST_CASE("a type number that is no type is an error") {
  for (const int number : {34, 99, 100 + 34, 1000, -1}) {
    CAPTURE(number);
    tensorflow::AttrValue message;
    message.set_type(static_cast<tensorflow::DataType>(number));
    CHECK(decode(message).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a list of several kinds is an error") {
  tensorflow::AttrValue message;
  message.mutable_list()->add_i(1);
  message.mutable_list()->add_f(1);
  CHECK(decode(message).status().message() ==
        "a list mixes elements of different kinds: list(int)");
}

TEST_CASE("a shape that is no shape is an error") {
  tensorflow::AttrValue message;
  message.mutable_shape()->add_dim()->set_size(-2);
  CHECK_FALSE(decode(message).ok());
  message.mutable_shape()->mutable_dim(0)->set_size(2);
  message.mutable_shape()->set_unknown_rank(true);
  CHECK_FALSE(decode(message).ok());
}

TEST_CASE("functions inside functions are followed a hundred levels deep, not for ever") {
  FunctionRef nested{"f", {}};
  for (int i = 0; i < 99; ++i) nested = FunctionRef{"f", {{"g", nested}}};
  CHECK(decode(encode(nested)).ok());
  for (int i = 0; i < 2; ++i) nested = FunctionRef{"f", {{"g", nested}}};
  CHECK(decode(encode(nested)).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::wire
