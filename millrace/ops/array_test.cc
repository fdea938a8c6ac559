// Arrays at their edges: empty ones, indices and diagonals that are not there, and types that are
// nothing but storage.
#include <complex>

#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& array_ops() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return *ops;
}

Result<std::vector<Tensor>> outcome(std::string_view op, std::vector<Tensor> inputs, Attrs attrs) {
  return run_op(array_ops(), op, std::move(inputs), std::move(attrs));
}

Tensor value(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  auto outputs = outcome(op, std::move(inputs), std::move(attrs));
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  return (*outputs)[0];
}

std::string words(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return std::string(outcome(op, std::move(inputs), std::move(attrs)).status().message());
}

Tensor whole(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }
Tensor parts(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
Tensor single(int32_t value) { return Tensor::scalar(value); }

TEST_CASE("slices that are not there are named with their place among the indices") {
  const Tensor rows = Tensor::of<float>({1, 3}, {0, 1, 2});
  const Tensor places = Tensor::of<int32_t>({1, 3, 1}, {0, 0, 1});
  CHECK(words("GatherNd", {rows, places}) ==
        "indices[0,2] = [1] does not index into param shape [1,3]");
  CHECK(words("ScatterNd", {Tensor::of<int32_t>({1, 1}, {-1}), parts({1}), whole({6})}) ==
        "indices[0] = [-1] does not index into shape [6]");
  CHECK(words("GatherNd",
              {Tensor::zeros(DType::f32, {0, 3}).value(), Tensor::of<int32_t>({1, 2}, {0, 0})}) ==
        "Requested more than 0 entries, but params is empty.  Params shape: [0,3]");
  CHECK(words("TensorScatterUpdate",
              {Tensor::scalar(1.0f), Tensor::of<int32_t>({1, 1}, {0}), parts({1})}) ==
        "Output must be at least 1-D, got shape: [], for indices of shape [1,1]");
}

TEST_CASE("pieces that don't fit together are told with their shapes") {
  CHECK(words("ConcatOffset", {single(4), whole({2, 3, 5}), whole({2, 7, 5})}) ==
        "Concat dim is out of range: 4 vs. 3, which is the rank of the pieces");
  CHECK(words("ConcatOffset", {single(1), whole({2, 3, 5}), whole({2, 7, 5, 10})}) ==
        "input 2 should contain 3 elements, as input 1 does, but got [2 7 5 10]");
  CHECK(words("ConcatOffset", {single(1), whole({2, 3, 5}), whole({2, 7, 10})}) ==
        "All dimensions except 1 must match. Input 1 has shape [2 7 10] and doesn't match input 0 "
        "with shape [2 3 5].");
}

TEST_CASE("one element is no scalar where TensorFlow takes none for it") {
  const Tensor name = Tensor::scalar(std::string("m"));
  CHECK(words("ShardedFilename", {name, single(4), whole({100})}) ==
        "num_shards must be a scalar, got shape [1]");
  CHECK(words("ShardedFilespec", {name, whole({100})}) ==
        "num_shards must be a scalar, got shape [1]");
  CHECK(words("UnsortedSegmentSum", {parts({7}), whole({1}), whole({4})}) ==
        "num_segments should be a scalar, not shape [1]");
  CHECK(words("MatrixSetDiag", {Tensor::of<float>({1, 1}, {0}), Tensor::scalar(0.0f)}) ==
        "diagonal must be at least 1-dim, received shape: []");
}

TEST_CASE("nobody promises that a variable is the same in each step") {
  const Tensor variable = Tensor::scalar(ResourceHandle{});
  CHECK(words("GuaranteeConst", {variable}) ==
        "Input tensor cannot be a resource variable handle: read the variable first");
}

TEST_CASE("an empty tensor takes a shape with a zero and a size to be worked out") {
  const Tensor empty = Tensor::zeros(DType::f32, {0, 6}).value();
  CHECK(value("Reshape", {empty, whole({0, -1, 3})}).shape() == Shape{0, 2, 3});
  CHECK(value("Reshape", {empty, whole({-1, 0})}).shape() == Shape{6, 0});
  CHECK(value("Reshape", {empty, whole({-1, 6})}).shape() == Shape{0, 6});
}

TEST_CASE("matrices may be too small for the outermost of their diagonals") {
  const Tensor diagonals = Tensor::of<float>({3, 2}, {8, 9, 5, 9, 1, 2});  // of columns 2, 1, 0
  const Tensor zero = Tensor::scalar(0.0f);
  const Tensor made = value("MatrixDiagV2", {diagonals, whole({0, 2}), single(2), single(2), zero});
  CHECK(made == Tensor::of<float>({2, 2}, {1, 5, 0, 2}));
}

TEST_CASE("a transpose of conjugates has the other sign in its imaginary parts") {
  using C = std::complex<float>;
  const Tensor made =
      value("ConjugateTranspose", {Tensor::of<C>({1, 2}, {C(1, 2), C(3, -4)}), whole({1, 0})});
  CHECK(made == Tensor::of<C>({2, 1}, {C(1, -2), C(3, 4)}));
}

TEST_CASE("quantized values are compared, cast and seen as bits like the integers they are") {
  const Tensor bytes = Tensor::vector<int8_t>({-1, 2});
  const Tensor quantized = value("Bitcast", {bytes}, {{"type", DType::qi8}});
  CHECK(quantized.dtype() == DType::qi8);
  CHECK(value("Equal", {quantized, quantized}) == Tensor::vector<bool>({true, true}));
  CHECK(value("NotEqual", {quantized, quantized}) == Tensor::vector<bool>({false, false}));
  CHECK(value("Cast", {quantized}, {{"DstT", DType::i32}}) == whole({-1, 2}));
  CHECK(value("Cast", {quantized}, {{"DstT", DType::i8}}) == bytes);
  CHECK(value("Cast", {whole({-1, 2})}, {{"DstT", DType::qi8}}) == quantized);
  CHECK(value("Cast", {bytes}, {{"DstT", DType::qi8}}) == quantized);
  CHECK(value("Bitcast", {quantized}, {{"type", DType::qu16}}) ==
        value("Bitcast", {value("Cast", {single(0x2ff)}, {{"DstT", DType::u16}})},
              {{"type", DType::qu16}}));
}

}  // namespace
}  // namespace millrace
