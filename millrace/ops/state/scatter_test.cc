#include "millrace/ops/state/scatter.h"

#include <doctest/doctest.h>

#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

Tensor rows(std::initializer_list<float> values) { return Tensor::of<float>({3, 2}, values); }

TEST_CASE("rows are added to, also twice, and replaced") {
  Tensor params = rows({1, 2, 3, 4, 5, 6});
  const Tensor indices = Tensor::vector<int32_t>({2, 0, 2});
  const Tensor updates = rows({1, 1, 2, 2, 3, 3});
  REQUIRE(scatter(params, indices, updates, cpu::addition_loop(DType::f32)).ok());
  CHECK(params == rows({3, 4, 3, 4, 9, 10}));
  REQUIRE(scatter(params, indices, updates, nullptr).ok());
  CHECK(params == rows({2, 2, 3, 4, 3, 3}));
}

TEST_CASE("a scalar update goes to every element of the rows") {
  Tensor params = rows({1, 2, 3, 4, 5, 6});
  const Tensor index = Tensor::scalar<int64_t>(1);
  REQUIRE(scatter(params, index, Tensor::scalar(9.0f), nullptr).ok());
  CHECK(params == rows({1, 2, 9, 9, 5, 6}));
  REQUIRE(scatter(params, index, Tensor::scalar(1.0f), cpu::subtraction_loop(DType::f32)).ok());
  CHECK(params == rows({1, 2, 8, 8, 5, 6}));
}

TEST_CASE("whoever read before sees nothing of it") {
  Tensor params = rows({1, 2, 3, 4, 5, 6});
  const Tensor read = params;
  REQUIRE(scatter(params, Tensor::scalar<int32_t>(0), Tensor::scalar(0.0f), nullptr).ok());
  CHECK(read == rows({1, 2, 3, 4, 5, 6}));
  CHECK(params == rows({0, 0, 3, 4, 5, 6}));
}

TEST_CASE("nothing is written if anything is wrong") {
  Tensor params = rows({1, 2, 3, 4, 5, 6});
  const Tensor bad = Tensor::vector<int32_t>({0, 3});
  const Tensor updates = Tensor::of<float>({2, 2}, {9, 9, 9, 9});
  CHECK(scatter(params, bad, updates, nullptr).message() == "indices[1] = 3 is not in [0, 3)");
  CHECK(scatter(params, Tensor::scalar<int32_t>(0), updates, nullptr).code() ==
        Code::invalid_argument);
  CHECK(params == rows({1, 2, 3, 4, 5, 6}));
  Tensor scalar = Tensor::scalar(1.0f);
  CHECK(scatter(scalar, Tensor::scalar<int32_t>(0), Tensor::scalar(2.0f), nullptr).code() ==
        Code::invalid_argument);
}

TEST_CASE("strings are replaced like everything else") {
  Tensor params = Tensor::vector<std::string>({"a", "b"});
  REQUIRE(scatter(params, Tensor::vector<int32_t>({1}), Tensor::vector<std::string>({"c"}), nullptr)
              .ok());
  CHECK(params == Tensor::vector<std::string>({"a", "c"}));
}

}  // namespace
}  // namespace millrace
