#include "millrace/format/shape_codec.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace millrace::wire {
namespace {

std::string encoded(const PartialShape& shape) {
  std::string bytes;
  put_shape(&bytes, shape);
  return bytes;
}

std::string decoded(std::string_view bytes) {
  const Result<PartialShape> shape = read_partial_shape(Reader(bytes));
  return shape.ok() ? shape->to_string() : shape.status().to_string();
}

// A shape that says a dimension so many times.
std::string of_rank(int rank) {
  std::string bytes;
  for (int i = 0; i < rank; ++i) {
    const NestedField dim(&bytes, shape_fields::kDim);
    put_varint_field(&bytes, shape_fields::kDimSize, 1);
  }
  return bytes;
}

TEST_CASE("shapes are read back as they were written") {
  for (const PartialShape& shape :
       {PartialShape::unknown(), PartialShape::scalar(), PartialShape{2, 3},
        PartialShape{0, kUnknownDim, 1}, PartialShape::of_rank(kMaxRank)}) {
    CHECK(decoded(encoded(shape)) == shape.to_string());
  }
}

TEST_CASE("a shape that is a field stands in its number") {
  std::string bytes;
  put_shape(&bytes, 5, PartialShape{7});
  put_varint_field(&bytes, 6, 1);
  Reader reader(bytes);
  Field field;
  REQUIRE(reader.next(&field));
  CHECK(field.is(5, WireType::bytes));
  CHECK(decoded(field.bytes) == "[7]");
  CHECK(reader.next(&field));
  CHECK(field.is(6, WireType::varint));
}

TEST_CASE("a dimension without a size is 0, and a rank that is said to be known is") {
  std::string bytes;
  { const NestedField dim(&bytes, shape_fields::kDim); }
  put_varint_field(&bytes, shape_fields::kUnknownRank, 0);
  CHECK(decoded(bytes) == "[0]");
}

TEST_CASE("a shape of 254 dimensions is read, and one of more is refused as it comes") {
  CHECK(read_partial_shape(Reader(of_rank(kMaxRank))).value().rank() == kMaxRank);
  const std::string refused = decoded(of_rank(kMaxRank + 1));
  CHECK(refused.find("a shape of more than 254 dimensions") != std::string::npos);
}

TEST_CASE("dimensions and an unknown rank contradict each other") {
  std::string bytes = encoded(PartialShape{2});
  put_varint_field(&bytes, shape_fields::kUnknownRank, 1);
  CHECK(decoded(bytes).find("says that its rank is unknown") != std::string::npos);
}

TEST_CASE("malformed dimensions are told") {
  CHECK(decoded(std::string_view("\x12\x01\x08", 3)).find("malformed message at byte 3") !=
        std::string::npos);
  CHECK(decoded(std::string_view("\x12\x05", 2)).find("malformed message") != std::string::npos);
}

TEST_CASE("the shape of a value must be known") {
  CHECK(read_shape(Reader(encoded(PartialShape{2, 3}))).value() == Shape{2, 3});
  CHECK(read_shape(Reader(encoded(PartialShape::scalar()))).value() == Shape());
  const std::string unknown = encoded(PartialShape::unknown());
  CHECK(read_shape(Reader(unknown)).status().message().find("whose rank is unknown") !=
        std::string::npos);
  const std::string open = encoded(PartialShape{2, kUnknownDim});
  CHECK_FALSE(read_shape(Reader(open)).ok());
}

TEST_CASE("types are known by their numbers, references by a hundred more") {
  CHECK(dtype_or_ref_from_number(0) == DType::invalid);
  CHECK(dtype_or_ref_from_number(1) == DType::f32);
  CHECK(dtype_or_ref_from_number(101) == DType::f32);
  CHECK(dtype_or_ref_from_number(kMaxDType) == static_cast<DType>(kMaxDType));
  CHECK(dtype_or_ref_from_number(100 + kMaxDType) == static_cast<DType>(kMaxDType));
  CHECK_FALSE(dtype_or_ref_from_number(kMaxDType + 1).has_value());
  CHECK_FALSE(dtype_or_ref_from_number(100).has_value());
  CHECK_FALSE(dtype_or_ref_from_number(~uint64_t{0}).has_value());
}

}  // namespace
}  // namespace millrace::wire
