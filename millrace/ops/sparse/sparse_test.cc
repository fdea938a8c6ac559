// Sparse tensors beside their examples: what is refused, and what TensorFlow lets pass.
#include <doctest/doctest.h>

#include "millrace/op/registry.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& sparse_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_sparse(*made).ok());
    return made;
  }();
  return *kOps;
}

struct Sparse {
  Tensor indices, values, dims;
};

Tensor places_of(int64_t number, int64_t rank, std::initializer_list<int64_t> all) {
  return Tensor::of<int64_t>({number, rank}, all);
}

Sparse matrix(std::initializer_list<int64_t> all, std::initializer_list<float> values,
              std::initializer_list<int64_t> dims = {2, 3}) {
  return {places_of(static_cast<int64_t>(values.size()), 2, all), Tensor::vector<float>(values),
          Tensor::vector<int64_t>(dims)};
}

// What is said of inputs.
std::string refusal_of(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  const auto made = run_op(sparse_ops(), op, std::move(inputs), std::move(attrs));
  if (made.ok()) return "it ran";
  CHECK(made.status().code() == Code::invalid_argument);
  return std::string(made.status().message());
}

bool says(const std::string& message, std::string_view words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos;
}

TEST_CASE("places, values and a shape that do not belong together are refused") {
  const Tensor one = Tensor::vector<float>({1.f});
  const Tensor dims = Tensor::vector<int64_t>({2, 3});
  CHECK(says(refusal_of("SparseReorder", {Tensor::vector<int64_t>({0, 1}), one, dims}),
             "Input indices should be a matrix"));
  CHECK(says(refusal_of("SparseReorder", {places_of(1, 2, {0, 1}), Tensor::scalar(1.f), dims}),
             "Input values should be a vector"));
  CHECK(
      says(refusal_of("SparseReorder", {places_of(1, 2, {0, 1}), one, Tensor::scalar(int64_t{2})}),
           "Input shape should be a vector"));
  CHECK(says(refusal_of("SparseReorder", {places_of(2, 2, {0, 1, 1, 1}), one, dims}),
             "Number of values must match first dimension of indices"));
  CHECK(says(refusal_of("SparseReorder", {places_of(1, 1, {0}), one, dims}),
             "Number of dimensions must match second dimension of indices"));
  CHECK(says(
      refusal_of("SparseReorder", {places_of(1, 2, {0, 1}), one, Tensor::vector<int64_t>({2, -3})}),
      "Expected shape dimensions to be non-negative, got -3"));
}

TEST_CASE("a place outside of the shape is refused where something stands at it") {
  const auto [indices, values, dims] = matrix({0, 5}, {1});
  const Tensor dense = *Tensor::zeros(DType::f32, {2, 3});
  const std::string_view words = "indices[0] = [0,5] is out of bounds: need 0 <= index < [2,3]";
  CHECK(says(refusal_of("SparseTensorDenseAdd", {indices, values, dims, dense}), words));
  CHECK(says(refusal_of("SparseDenseCwiseMul", {indices, values, dims, dense}), words));
  CHECK(says(refusal_of("SparseReduceSum", {indices, values, dims, Tensor::vector<int32_t>({1})}),
             words));
  CHECK(says(refusal_of("SparseSplit", {Tensor::scalar(int64_t{1}), indices, values, dims},
                        {{"num_split", int64_t{2}}}),
             words));
  CHECK(says(refusal_of("SparseSparseMaximum", {indices, values, dims, indices, values, dims}),
             words));
}

TEST_CASE("a place of -1 may stand for what is missing where places are only moved") {
  const auto [indices, values, dims] = matrix({1, 0, -1, 5}, {1, 2});
  auto made = run_op(sparse_ops(), "SparseReorder", {indices, values, dims});
  REQUIRE(made.ok());
  CHECK((*made)[0] == places_of(2, 2, {-1, 5, 1, 0}));
  made = run_op(sparse_ops(), "SparseFillEmptyRows",
                {places_of(1, 2, {0, 9}), Tensor::vector<float>({1.f}), dims, Tensor::scalar(7.f)});
  REQUIRE(made.ok());
  CHECK((*made)[0] == places_of(2, 2, {0, 9, 1, 0}));
}

TEST_CASE("a reshape infers one size, and refuses what does not come out") {
  const auto reshape = [](std::initializer_list<int64_t> from, std::initializer_list<int64_t> to) {
    return refusal_of("SparseReshape", {places_of(1, 2, {0, 1}), Tensor::vector<int64_t>(from),
                                        Tensor::vector<int64_t>(to)});
  };
  CHECK(reshape({2, 3}, {-1}) == "it ran");
  CHECK(says(reshape({2, 3}, {-1, -1}), "only one output dimension may be -1, not both 0 and 1"));
  CHECK(says(reshape({2, 3}, {-2}), "size 0 must be non-negative, not -2"));
  CHECK(says(reshape({2, 3}, {4, -1}), "requires a multiple of 4"));
  CHECK(says(reshape({2, 3}, {5}), "6 dense values, but the requested shape has 5"));
  CHECK(says(reshape({2, 0}, {0, -1}), "reshape cannot infer the missing input size"));
  CHECK(says(reshape({2, 0}, {0}), "is empty"));
  CHECK(says(reshape({2, 3, 1}, {6}), "Input tensor rank must match input shape length"));
  const int64_t huge = int64_t{1} << 62;
  CHECK(says(reshape({huge, 8}, {6}), "input_shape"));
  CHECK(says(reshape({2, 3}, {huge, 8}), "over 2^63 - 1"));
}

TEST_CASE("products refuse inner sizes that differ and results that no memory holds") {
  const auto [indices, values, dims] = matrix({0, 1}, {1});
  CHECK(says(refusal_of("SparseTensorDenseMatMul",
                        {indices, values, dims, *Tensor::zeros(DType::f32, {2, 2})}),
             "inner dimension does not match: 3 vs. 2"));
  CHECK(says(refusal_of("SparseTensorDenseMatMul",
                        {indices, values, dims, *Tensor::zeros(DType::f32, {3})}),
             "Tensor 'b' is not a matrix"));
  const int64_t huge = int64_t{1} << 62;
  CHECK(refusal_of("SparseTensorDenseMatMul", {indices, values, Tensor::vector<int64_t>({huge, 3}),
                                               *Tensor::zeros(DType::f32, {3, 8})}) != "it ran");
}

TEST_CASE("filling rows refuses a row that is not there, and more rows than memory") {
  const auto fill = [](int64_t row, std::initializer_list<int64_t> dims) {
    return refusal_of("SparseFillEmptyRows",
                      {places_of(1, 2, {row, 0}), Tensor::vector<float>({1.f}),
                       Tensor::vector<int64_t>(dims), Tensor::scalar(7.f)});
  };
  CHECK(says(fill(3, {3, 2}), "indices(0, 0) is invalid: 3 >= 3"));
  CHECK(says(fill(-1, {3, 2}), "indices(0, 0) is invalid: -1 < 0"));
  CHECK(says(fill(0, {0, 2}), "dense_shape[0] = 0 but indices.shape[0] = 1"));
  CHECK(fill(0, {int64_t{1} << 62, 2}) != "it ran");
  CHECK(says(refusal_of("SparseFillEmptyRowsGrad",
                        {Tensor::vector<int64_t>({3}), Tensor::vector<float>({1.f})}),
             "Elements in reverse index must be in [0, 1) but got 3"));
}

TEST_CASE("a slice may begin before the tensor or reach beyond it, but has no negative size") {
  const Sparse of = matrix({0, 1, 1, 2}, {1, 2});
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const int64_t highest = std::numeric_limits<int64_t>::max();
  const auto slice = [&](std::initializer_list<int64_t> start,
                         std::initializer_list<int64_t> size) {
    return run_op(sparse_ops(), "SparseSlice",
                  {of.indices, of.values, of.dims, Tensor::vector<int64_t>(start),
                   Tensor::vector<int64_t>(size)});
  };
  auto made = slice({0, 1}, {2, highest});
  REQUIRE(made.ok());
  CHECK((*made)[0] == places_of(2, 2, {0, 0, 1, 1}));
  CHECK((*made)[2] == Tensor::vector<int64_t>({2, 2}));
  made = slice({lowest, 5}, {highest, 2});
  REQUIRE(made.ok());
  CHECK((*made)[1].num_elements() == 0);
  made = slice({0, 0}, {2, -1});
  REQUIRE(!made.ok());
  CHECK(says(std::string(made.status().message()), "Expected a non-negative size, got -1"));
}

TEST_CASE("joins refuse ranks, sizes and axes that do not fit") {
  const Sparse of = matrix({0, 1}, {1});
  const auto concat = [&](const Tensor& other, int64_t axis) {
    return refusal_of("SparseConcat",
                      {of.indices, of.indices, of.values, of.values, of.dims, other},
                      {{"N", int64_t{2}}, {"concat_dim", axis}});
  };
  CHECK(concat(of.dims, -1) == "it ran");
  CHECK(says(concat(of.dims, 2), "Concat dimension must be in range [-2, 2), got 2"));
  CHECK(says(concat(Tensor::vector<int64_t>({3, 3}), 1),
             "expected 2 for dimension 0 but got 3 at position 1"));
  CHECK(says(concat(Tensor::vector<int64_t>({2, std::numeric_limits<int64_t>::max()}), 1),
             "add up to more than 2^63 - 1"));
  const auto split = [&](const Tensor& axis, int64_t number) {
    return refusal_of("SparseSplit", {axis, of.indices, of.values, of.dims},
                      {{"num_split", number}});
  };
  CHECK(says(split(Tensor::scalar(int64_t{2}), 2), "Input axis should be in range [-2, 2), got 2"));
  CHECK(
      says(split(Tensor::scalar(int64_t{1}), 4), "between 1 and the splitting dimension size (3)"));
  CHECK(says(split(Tensor::vector<int64_t>({1}), 2), "Input axis should be a scalar"));
  const Tensor longest = Tensor::vector<int64_t>({2, std::numeric_limits<int64_t>::max()});
  CHECK(refusal_of("SparseSplit", {Tensor::scalar(int64_t{1}), of.indices, of.values, longest},
                   {{"num_split", 1}}) == "it ran");
}

TEST_CASE(
    "the dense side is repeated, never the sparse one, and whole numbers are not divided by 0") {
  const Tensor place = places_of(1, 2, {0, 1}), dims = Tensor::vector<int64_t>({1, 3});
  const Tensor number = Tensor::vector<int32_t>({2});
  CHECK(says(
      refusal_of("SparseDenseCwiseMul", {place, number, dims, *Tensor::zeros(DType::i32, {2, 3})}),
      "broadcasts dense to sparse only"));
  CHECK(says(refusal_of("SparseDenseCwiseMul",
                        {place, number, dims, *Tensor::zeros(DType::i32, {1, 1, 3})}),
             "broadcasts dense to sparse only"));
  CHECK(says(refusal_of("SparseDenseCwiseDiv", {place, number, dims, Tensor::scalar(int32_t{0})}),
             "cannot divide by zero"));
}

TEST_CASE("reductions refuse axes that are not there, and take one that is named twice") {
  const Sparse of = matrix({0, 1, 0, 2}, {1, 2});
  const auto axes = [&](std::initializer_list<int32_t> all) {
    return run_op(sparse_ops(), "SparseReduceSum",
                  {of.indices, of.values, of.dims, Tensor::vector<int32_t>(all)});
  };
  CHECK(*axes({1, -1}) == std::vector<Tensor>{Tensor::vector<float>({3.f, 0.f})});
  CHECK(*axes({}) == std::vector<Tensor>{Tensor::of<float>({2, 3}, {0, 1, 2, 0, 0, 0})});
  CHECK(says(std::string(axes({2}).status().message()), "Invalid reduction dimension 2"));
}

TEST_CASE("a batch is cut into rows and stacked again, through bytes and through variants") {
  const auto [indices, values, dims] = matrix({0, 1, 2, 0}, {1, 2}, {3, 2});
  for (const DType kind : {DType::string, DType::variant}) {
    const auto cut =
        run_op(sparse_ops(), "SerializeManySparse", {indices, values, dims}, {{"out_type", kind}});
    REQUIRE(cut.ok());
    CHECK((*cut)[0].shape() == Shape{3, 3});
    const auto whole = run_op(sparse_ops(), "DeserializeSparse", {(*cut)[0]},
                              {{"dtype", DType::f32}, {"Tserialized", kind}});
    REQUIRE_MESSAGE(whole.ok(), whole.status().to_string());
    CHECK(*whole == std::vector<Tensor>{indices, values, dims});
    CHECK(says(refusal_of("DeserializeSparse", {(*cut)[0]},
                          {{"dtype", DType::i32}, {"Tserialized", kind}}),
               "Requested SparseTensor of type int32"));
  }
}

TEST_CASE("what is no sparse tensor does not become one") {
  const auto read = [](const Tensor& bytes) {
    return refusal_of("DeserializeSparse", {bytes}, {{"dtype", DType::f32}});
  };
  CHECK(says(read(Tensor::scalar(std::string("x"))), "should have non-zero rank"));
  CHECK(says(read(Tensor::vector<std::string>({"a", "b"})), "3 as the last dimension"));
  CHECK(says(read(*Tensor::zeros(DType::string, {0, 3})), "has a zero dimension"));
  CHECK(
      says(read(Tensor::vector<std::string>({"a", "b", "c"})), "Could not parse serialized proto"));
  CHECK(says(refusal_of("DeserializeSparse", {*Tensor::zeros(DType::variant, {3})},
                        {{"dtype", DType::f32}, {"Tserialized", DType::variant}}),
             "Could not get a tensor from the indices"));
}

TEST_CASE("rows are only cut from places that are inside and in order") {
  const auto cut = [](const Sparse& of) {
    return refusal_of("SerializeManySparse", {of.indices, of.values, of.dims});
  };
  CHECK(says(cut(matrix({0, 1, 0, 0}, {1, 2})), "indices[1] is out of order"));
  CHECK(says(cut(matrix({0, 1, 0, 1}, {1, 2})), "indices[1] is repeated"));
  CHECK(says(cut(matrix({2, 1}, {1})), "indices[0] = [2,1] is out of bounds"));
  CHECK(
      says(cut({places_of(1, 1, {0}), Tensor::vector<float>({1.f}), Tensor::vector<int64_t>({2})}),
           "should be > 1, but saw rank: 1"));
  CHECK(cut(matrix({0, 1}, {1}, {int64_t{1} << 60, 2})) != "it ran");
}

TEST_CASE("a map gives out each sparse tensor once") {
  Bench bench(sparse_ops());
  const auto [indices, values, dims] = matrix({0, 1, 1, 2}, {1, 2});
  const BenchNode shared{.attrs = {{"shared_name", std::string("m")}, {"T", DType::f32}}};
  const auto put = bench.run("AddManySparseToTensorsMap", {indices, values, dims}, shared);
  REQUIRE(put.ok());
  const Tensor handles = (*put)[0].tensor;
  const BenchNode taking{.attrs = {{"shared_name", std::string("m")}, {"dtype", DType::f32}}};
  const auto take = [&](const Tensor& of) {
    return bench.run("TakeManySparseFromTensorsMap", {of}, taking);
  };
  CHECK(says(std::string(take(Tensor::vector<int64_t>({0, 7})).status().message()),
             "Unable to find SparseTensor: 7 in map: m"));
  const auto taken = take(handles);  // the attempt before took nothing
  REQUIRE_MESSAGE(taken.ok(), taken.status().to_string());
  CHECK((*taken)[0].tensor == indices);
  CHECK((*taken)[1].tensor == values);
  CHECK((*taken)[2].tensor == dims);
  CHECK(!take(handles).ok());

  const auto line = bench.run(
      "AddSparseToTensorsMap",
      {places_of(1, 1, {0}), Tensor::vector<float>({1}), Tensor::vector<int64_t>({1})}, shared);
  const auto square = bench.run("AddSparseToTensorsMap", {indices, values, dims}, shared);
  REQUIRE((line.ok() && square.ok()));
  const auto both = Tensor::vector<int64_t>(
      {(*line)[0].tensor.item<int64_t>(), (*square)[0].tensor.item<int64_t>()});
  CHECK(take(both).status().message() ==
        "Inconsistent rank across SparseTensors: rank prior to SparseTensor[1] was: 2 but rank of "
        "SparseTensor[1] is: 3");
}

TEST_CASE("what can't be counted in a sparse tensor is refused") {
  const Tensor places = places_of(3, 2, {0, 0, 1, 1, 1, 0});
  const Tensor values = Tensor::vector<int32_t>({1, 2, 1});
  const Tensor dims = Tensor::vector<int64_t>({2, 2}), size = Tensor::scalar<int32_t>(3);
  const Tensor none = Tensor::vector<float>({});
  const auto refusal = [&](const Tensor& what, const Tensor& bins, const Tensor& weights) {
    return refusal_of("SparseBincount", {places, what, dims, bins, weights});
  };
  // TensorFlow reads behind weights that are too few.
  CHECK(says(refusal(values, size, Tensor::vector<float>({1, 2})), "must have the same shape"));
  CHECK(says(refusal(Tensor::vector<int32_t>({1, -2, 1}), size, none),
             "Input must be non-negative. It has -2 at place 1"));
  CHECK(says(refusal(values, Tensor::scalar<int32_t>(-3), none), "must be non-negative"));
  CHECK(says(refusal(values, Tensor::vector<int32_t>({3}), none), "rank 0 but is rank 1"));
  CHECK(says(refusal_of("SparseBincount", {places_of(1, 1, {-2}), Tensor::vector<int32_t>({1}),
                                           Tensor::vector<int64_t>({2}), size, none}),
             "out of bounds"));
  CHECK(says(refusal_of("SparseBincount", {places_of(1, 3, {0, 0, 0}), Tensor::vector<int32_t>({1}),
                                           Tensor::vector<int64_t>({2, 2, 2}), size, none}),
             "only vectors and matrices"));
}

TEST_CASE(
    "numbers that come in rows which are far apart take no more room than there are of them") {
  const auto wide = Tensor::vector<int64_t>({int64_t{1} << 60, 2});
  const auto made =
      run_op(sparse_ops(), "SparseCountSparseOutput",
             {places_of(2, 2, {int64_t{1} << 59, 0, 3, 1}),
              Tensor::vector<int64_t>({int64_t{1} << 50, 4}), wide, Tensor::vector<int32_t>({})},
             {{"binary_output", false}});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK((*made)[0] == Tensor::of<int64_t>({2, 2}, {3, 4, int64_t{1} << 59, int64_t{1} << 50}));
  CHECK((*made)[1] == Tensor::vector<int32_t>({1, 1}));
  CHECK((*made)[2] == Tensor::vector<int64_t>({int64_t{1} << 60, (int64_t{1} << 50) + 1}));
}

TEST_CASE("sparse tensors that do not fit are refused in the words that clients look for") {
  const Tensor one = Tensor::vector<float>({1}), three = Tensor::vector<float>({1, 2, 3});
  const Tensor place = places_of(1, 2, {0, 0}), square = Tensor::vector<int64_t>({2, 2});
  CHECK(says(refusal_of("SparseReorder", {place, three, square}),
             "Number of elements in indices (1) and values (3) do not match"));
  CHECK(says(refusal_of("SparseReorder", {places_of(1, 1, {0}), one, square}),
             "Index rank (1) and shape rank (2) do not match"));
  CHECK(says(refusal_of("SparseSparseMaximum", {place, one, square, places_of(1, 1, {0}), one,
                                                Tensor::vector<int64_t>({2})}),
             "Operands do not have the same ranks"));
  CHECK(says(refusal_of("SparseSplit", {square, place, one, square}, {{"num_split", 2}}),
             "axis should be a scalar"));
  const Tensor huge = Tensor::vector<int64_t>({int64_t{1} << 32, int64_t{1} << 31});
  CHECK(says(refusal_of("SparseSoftmax", {place, one, huge}), "Encountered overflow"));
  CHECK(says(refusal_of("SetSize", {Tensor::scalar<int64_t>(1), Tensor::vector<int64_t>({1, 1}),
                                    Tensor::scalar<int64_t>(1)}),
             "Shape must be a 1D tensor"));
  CHECK(says(refusal_of("SetSize", {places_of(1, 2, {5, 5}), Tensor::vector<int64_t>({1}), square},
                        {{"validate_indices", false}}),
             "Index out of range: indices[0] = [5,5]"));
}

TEST_CASE("a product says which of its axes an element is outside of") {
  const Tensor b = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto refusal = [&](std::initializer_list<int64_t> place, bool turned) {
    return refusal_of(
        "SparseTensorDenseMatMul",
        {places_of(1, 2, place), Tensor::vector<float>({1}), Tensor::vector<int64_t>({2, 2}), b},
        {{"adjoint_a", turned}});
  };
  CHECK(says(refusal({0, 10}, false), "k (10) from index[0,1] out of bounds (>=2)"));
  CHECK(says(refusal({10, 0}, false), "m (10) from index[0,0] out of bounds (>=2)"));
  CHECK(says(refusal({0, 10}, true), "m (10) from index[0,1] out of bounds (>=2)"));
  CHECK(says(refusal({-1, 0}, true), "k (-1) from index[0,0] out of bounds (>=2)"));
}

}  // namespace
}  // namespace millrace
