#include "millrace/ops/state/scatter.h"

#include <doctest/doctest.h>

#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/testing/op_bench.h"

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

TEST_CASE("rows are multiplied, divided, lowered and raised") {
  Tensor params = rows({1, 2, 3, 4, 5, 6});
  const Tensor index = Tensor::vector<int32_t>({1});
  const Tensor updates = Tensor::of<float>({1, 2}, {2, 8});
  REQUIRE(scatter(params, index, updates, product_loop(DType::f32)).ok());
  CHECK(params == rows({1, 2, 6, 32, 5, 6}));
  REQUIRE(scatter(params, index, updates, quotient_loop(DType::f32)).ok());
  CHECK(params == rows({1, 2, 3, 4, 5, 6}));
  REQUIRE(scatter(params, index, updates, minimum_loop(DType::f32)).ok());
  CHECK(params == rows({1, 2, 2, 4, 5, 6}));
  REQUIRE(scatter(params, index, updates, maximum_loop(DType::f32)).ok());
  CHECK(params == rows({1, 2, 2, 8, 5, 6}));
  Tensor whole = Tensor::vector<int32_t>({7, -7, INT32_MIN});
  REQUIRE(scatter(whole, Tensor::vector<int32_t>({0, 1, 2}), Tensor::vector<int32_t>({2, 2, -1}),
                  quotient_loop(DType::i32))
              .ok());
  CHECK(whole == Tensor::vector<int32_t>({3, -3, INT32_MIN}));
}

TEST_CASE("rows of a variable are not divided by zero") {
  OpRegistry ops;
  REQUIRE(register_state(ops).ok());
  Bench bench(ops);
  const Attrs attrs{{"dtype", DType::i32}};
  const auto handle =
      bench.run("VarHandleOp", {}, {.attrs = {{"dtype", DType::i32}, {"shape", PartialShape{2}}}});
  REQUIRE(handle.ok());
  const Value variable = (*handle)[0];
  REQUIRE(
      bench.run("AssignVariableOp", {variable, Tensor::vector<int32_t>({6, 8})}, {.attrs = attrs})
          .ok());
  const auto divide = [&](int32_t by) {
    return bench
        .run("ResourceScatterDiv",
             {variable, Tensor::vector<int32_t>({0, 1}), Tensor::vector<int32_t>({2, by})},
             {.attrs = {{"dtype", DType::i32}, {"Tindices", DType::i32}}})
        .status();
  };
  CHECK(divide(0) == invalid("updates must not contain 0"));
  CHECK(divide(4).ok());
  CHECK((*bench.run("ReadVariableOp", {variable}, {.attrs = attrs}))[0].tensor ==
        Tensor::vector<int32_t>({3, 2}));
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
