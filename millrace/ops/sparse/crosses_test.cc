// Crosses of features beside their examples: hashes that are TensorFlow's, and what is refused.
#include <doctest/doctest.h>

#include "millrace/op/registry.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& cross_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_sparse_crosses(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor rows(std::initializer_list<int64_t> places) {
  return Tensor::of<int64_t>({static_cast<int64_t>(places.size()) / 2, 2}, places);
}
Tensor texts(std::initializer_list<std::string> values) {
  return Tensor::vector<std::string>(values);
}
Tensor numbers(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }
Tensor sep() { return Tensor::scalar(std::string("&")); }

// Of columns whose values are of these types.
Attrs columns_of(std::vector<DType> sparse, std::vector<DType> dense = {}) {
  return {{"N", static_cast<int64_t>(sparse.size())},
          {"sparse_types", AttrValue(std::move(sparse))},
          {"dense_types", AttrValue(std::move(dense))}};
}
Attrs two_texts() { return columns_of({DType::string, DType::string}); }

Status refusal(std::string_view op, std::vector<Tensor> inputs, Attrs attrs) {
  return run_op(cross_ops(), op, std::move(inputs), std::move(attrs)).status();
}

std::vector<int64_t> hashed(std::vector<Tensor> columns, Attrs attrs, bool is_strong,
                            std::initializer_list<int64_t> salt) {
  columns.push_back(Tensor::scalar(int64_t{0}));
  columns.push_back(Tensor::scalar(is_strong));
  columns.push_back(numbers(salt));
  const auto made = run_op(cross_ops(), "SparseCrossHashed", std::move(columns), std::move(attrs));
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  const auto values = (*made)[1].flat<int64_t>();
  return {values.begin(), values.end()};
}

TEST_CASE("a strong hash is SipHash under the salt") {
  CHECK(hashed({rows({0, 0, 1, 0, 1, 1}), texts({"a", "b", "c"}), numbers({2, 2})},
               columns_of({DType::string}), true, {137, 173}) ==
        std::vector<int64_t>{8128005079731125233, 5524000490119507203, 5369109151339078260});
}

TEST_CASE("of a sparse integer TensorFlow hashes the lower half, and so do we") {
  const auto of = [](int64_t number) {
    return hashed({rows({0, 0}), numbers({number}), numbers({1, 1})}, columns_of({DType::i64}),
                  false, {1, 2})[0];
  };
  CHECK(of(2) == of(2 + (int64_t{5} << 32)));
  CHECK(of(2) != of(3));
}

TEST_CASE("rows out of order are not come to, and those after them neither") {
  const auto made = run_op(cross_ops(), "SparseCrossV2",
                           {rows({0, 0, 0, 1, 1, 0}), rows({1, 0, 0, 0}), texts({"a", "b", "c"}),
                            texts({"d", "e"}), numbers({2, 2}), numbers({2, 1}), sep()},
                           two_texts());
  REQUIRE(made.ok());
  CHECK((*made)[0] == rows({1, 0}));
  CHECK((*made)[1] == texts({"c&d"}));
  CHECK((*made)[2] == numbers({2, 1}));
  const auto negative = run_op(cross_ops(), "SparseCrossV2",
                               {rows({-1, 0, 0, 0}), texts({"a", "b"}), numbers({2, 2}), sep()},
                               columns_of({DType::string}));
  REQUIRE(negative.ok());
  CHECK((*negative)[1].num_elements() == 0);
}

TEST_CASE("without columns there is nothing to cross") {
  const auto made = run_op(cross_ops(), "SparseCrossV2", {sep()}, columns_of({}));
  REQUIRE(made.ok());
  CHECK((*made)[2] == numbers({0, 0}));
}

TEST_CASE("a batch of any size costs what its features cost") {
  const int64_t large = int64_t{1} << 60;
  const auto made = run_op(cross_ops(), "SparseCrossV2",
                           {rows({large - 1, 0}), texts({"a"}), numbers({large, 1}), sep()},
                           columns_of({DType::string}));
  REQUIRE(made.ok());
  CHECK((*made)[0] == rows({large - 1, 0}));
  const auto none = run_op(cross_ops(), "SparseCrossV2",
                           {*Tensor::zeros(DType::string, {int64_t{1} << 60, 0}), sep()},
                           columns_of({}, {DType::string}));
  REQUIRE(none.ok());
  CHECK((*none)[2] == numbers({int64_t{1} << 60, 0}));
}

TEST_CASE("more crosses than can be counted are refused") {
  const Tensor wide = *Tensor::zeros(DType::string, {1, 1 << 16});
  CHECK(refusal("SparseCrossV2", {wide, wide, wide, wide, sep()},
                columns_of({}, std::vector<DType>(4, DType::string)))
            .code() == Code::resource_exhausted);
}

TEST_CASE("columns that do not belong together are refused as TensorFlow does") {
  const Tensor places = rows({0, 0}), a = texts({"a"}), dims = numbers({2, 2});
  const auto of_two = [&](Tensor places_of_first, Tensor values, Tensor shape) {
    return refusal("SparseCrossV2",
                   {std::move(places_of_first), places, std::move(values), a, std::move(shape),
                    dims, sep()},
                   two_texts())
        .message();
  };
  CHECK(of_two(places, a, numbers({3, 2})) == "Expected batch size 3 got 2 at position 1");
  CHECK(of_two(places, a, numbers({-1, 2})) ==
        "Expected a batch size of 0 or more, got -1 at position 0");
  CHECK(of_two(places, a, numbers({2})) ==
        "shape should imply a 2D tensor, but got [1] at position 0");
  CHECK(of_two(places, texts({"a", "b"}), dims) ==
        "Expected size of values to be 1 got 2 at position 0");
  CHECK(of_two(Tensor::of<int64_t>({1, 1}, {0}), a, dims) ==
        "Expected D2 of index to be 2 got 1 at position 0");
  CHECK(of_two(numbers({0}), a, dims) ==
        "Input indices should be a matrix but received shape [1] at position 0");
  CHECK(refusal("SparseCrossHashed",
                {places, a, dims, Tensor::scalar(int64_t{5}), Tensor::scalar(false), numbers({1})},
                columns_of({DType::string}))
            .message() == "Input \"salt\" must have length 2 but has length 1");
}

TEST_CASE("integers are no texts to an old cross whose inner type is text") {
  Attrs attrs = columns_of({DType::i64});
  attrs.set("out_type", DType::string);
  attrs.set("internal_type", DType::string);
  attrs.set("hashed_output", false);
  attrs.set("num_buckets", int64_t{0});
  attrs.set("hash_key", int64_t{0});
  CHECK(refusal("SparseCross", {rows({0, 0}), numbers({1}), numbers({1, 1})}, attrs).message() ==
        "Input values should be of internal type string but received int64");
}

}  // namespace
}  // namespace millrace
