#include "millrace/tensor/shape.h"

#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/tensor/dtype.h"

namespace millrace {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

Result<Shape> shape_of(std::vector<int64_t> dims) { return Shape::create(dims); }
Result<PartialShape> partial_of(std::vector<int64_t> dims) { return PartialShape::create(dims); }

TEST_CASE("a shape counts its elements") {
  CHECK(Shape().num_elements() == 1);
  CHECK(Shape().is_scalar());
  CHECK(Shape{2, 3, 4}.num_elements() == 24);
  CHECK(Shape{2, 0, 4}.num_elements() == 0);
  CHECK(Shape{2, 3}.to_string() == "[2,3]");
  CHECK(Shape().to_string() == "[]");
}

TEST_CASE("a shape from outside is checked") {
  CHECK(shape_of({2, 3}).value() == Shape{2, 3});
  CHECK(shape_of({2, -3}).status().message() == "dimension 1 of a shape is -3; sizes start at 0");
  CHECK(shape_of({kHuge, 2}).status().code() == Code::invalid_argument);
  CHECK(shape_of({kHuge, 1}).value().num_elements() == kHuge);
  CHECK(shape_of(std::vector<int64_t>(254, 1)).ok());
  CHECK(shape_of(std::vector<int64_t>(255, 1)).status().message() ==
        "a shape has 255 dimensions; at most 254 are supported");
}

TEST_CASE("a zero does not hide dims whose product overflows") {
  CHECK_FALSE(shape_of({kHuge, 2, 0}).ok());
  CHECK_FALSE(shape_of({0, kHuge, 2}).ok());
  CHECK(shape_of({0, kHuge}).value().num_elements() == 0);
}

TEST_CASE("a partial shape knows its rank, some dims, or nothing") {
  CHECK_FALSE(PartialShape().has_rank());
  CHECK(PartialShape().rank() == -1);
  CHECK(PartialShape().to_string() == "<unknown>");
  CHECK(PartialShape{2, kUnknownDim}.to_string() == "[2,?]");
  CHECK(PartialShape::of_rank(2) == PartialShape{kUnknownDim, kUnknownDim});
  CHECK(PartialShape::scalar().is_fully_known());
  CHECK_FALSE(PartialShape::scalar() == PartialShape::unknown());
  CHECK(PartialShape{2, 3}.to_shape() == Shape{2, 3});
  CHECK_FALSE(PartialShape{2, kUnknownDim}.to_shape().has_value());
  CHECK(partial_of({2, -1}).value() == PartialShape{2, kUnknownDim});
  CHECK_FALSE(partial_of({2, -2}).ok());
}

TEST_CASE("a partial shape allows what does not contradict it") {
  CHECK(PartialShape().allows(Shape{2, 3}));
  CHECK(PartialShape{2, kUnknownDim}.allows(Shape{2, 3}));
  CHECK_FALSE(PartialShape{2, kUnknownDim}.allows(Shape{3, 3}));
  CHECK_FALSE(PartialShape{2, kUnknownDim}.allows(Shape{2}));
}

TEST_CASE("merging keeps what both sides know") {
  const PartialShape left{2, kUnknownDim};
  CHECK(left.merge(PartialShape{kUnknownDim, 3}).value() == PartialShape{2, 3});
  CHECK(left.merge(PartialShape()).value() == left);
  CHECK(PartialShape().merge(left).value() == left);
  CHECK(left.merge(PartialShape{3, 3}).status().message() ==
        "shapes [2,?] and [3,3] differ in dimension 0: 2 and 3");
  CHECK(left.merge(PartialShape{2}).status().code() == Code::invalid_argument);
  CHECK_FALSE(PartialShape{kHuge, kUnknownDim}.merge(PartialShape{kUnknownDim, 2}).ok());
}

TEST_CASE("every dtype has a name, and the name leads back to it") {
  for (int number = 1; number <= kMaxDType; ++number) {
    const DType dtype = dtype_from_number(number).value();
    CAPTURE(number);
    CHECK(dtype_from_name(dtype_name(dtype)) == dtype);
    CHECK(dtype_size(dtype) > 0);
  }
  CHECK(dtype_from_name("DT_FLOAT") == DType::f32);
  CHECK(dtype_from_name("DT_FLOAT8_E4M3B11FNUZ") == DType::f8_e4m3b11fnuz);
  CHECK(dtype_from_name("DT_FLOAT4_E2M1FN") == DType::f4_e2m1fn);
  CHECK(dtype_from_name("float32") == DType::f32);
  CHECK(dtype_from_name("float64") == DType::f64);
  CHECK(dtype_from_name("float16") == DType::f16);
}

TEST_CASE("what is no dtype is recognised") {
  CHECK_FALSE(dtype_from_name("invalid").has_value());
  CHECK_FALSE(dtype_from_name("FLOAT").has_value());
  CHECK_FALSE(dtype_from_name("").has_value());
  CHECK_FALSE(dtype_from_number(0).has_value());
  CHECK_FALSE(dtype_from_number(34).has_value());
  CHECK_FALSE(dtype_from_number(101).has_value());
  CHECK_FALSE(dtype_from_number(-1).has_value());
  CHECK(dtype_size(DType::invalid) == 0);
  CHECK_FALSE(is_plain(DType::invalid));
}

TEST_CASE("dtypes fall into families") {
  CHECK(is_plain(DType::boolean));
  CHECK_FALSE(is_plain(DType::string));
  CHECK_FALSE(is_plain(DType::resource));
  CHECK_FALSE(is_plain(DType::variant));
  CHECK(is_floating(DType::bf16));
  CHECK(is_complex(DType::c64));
}

}  // namespace
}  // namespace millrace
