// Kernels that are told to stop while they compute.
#include <doctest/doctest.h>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr int64_t kPiece = CancelProbe::kPiece;

// One call of each kernel with a loop of its own, on `n` elements or so.
struct Use {
  std::string_view op;
  std::vector<Value> inputs;
  Attrs attrs = {};
};

Tensor integers(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

std::vector<Use> uses(int64_t n) {
  const auto count = static_cast<int32_t>(n);
  const Tensor x = Tensor::zeros(DType::f32, {n}).value();
  const Tensor rows = Tensor::zeros(DType::f32, {2, n}).value();
  const Tensor columns = Tensor::zeros(DType::f32, {n, 2}).value();
  const Tensor column = Tensor::zeros(DType::f32, {n, 1}).value();
  const Tensor flags = Tensor::zeros(DType::boolean, {n}).value();
  const Tensor places = Tensor::zeros(DType::i32, {n}).value();
  const Tensor zero = Tensor::scalar<int32_t>(0), one = Tensor::scalar<int32_t>(1);
  const Tensor f = Tensor::scalar(1.0f);
  const Tensor line = x.reshaped({1, 1, n, 1}).value(), pair = Tensor::vector<float>({1, 1});
  const Tensor complex_rows = Tensor::zeros(DType::c64, {2, n}).value();
  const Tensor steps = Tensor::zeros(DType::qi8, {n}).value();
  const std::vector<int64_t> ones = {1, 1, 1, 1, 1};
  return {
      {"Fill", {integers({count}), f}},
      {"OnesLike", {x}},
      {"Range", {zero, Tensor::scalar(count), one}},
      {"LinSpace", {f, f, Tensor::scalar(count)}},
      {"OneHot", {places, Tensor::scalar<int32_t>(2), f, f}},
      {"Neg", {x}},
      {"Exp", {x}},
      {"Add", {x, x}},
      {"Add", {x, f}},
      {"Mul", {columns, column}},
      {"Less", {rows, x}},
      {"AddN", {x, x}},
      {"Cast", {x}, {{"SrcT", DType::f32}, {"DstT", DType::i32}}},
      {"Sum", {x, zero}},
      {"Mean", {columns, one}},
      {"Max", {rows, zero}},
      {"L2Loss", {x}},
      {"TanhGrad", {x, x}},
      {"ReluGrad", {x, x}},
      {"LeakyRelu", {x}},
      {"LeakyReluGrad", {x, x}},
      {"BiasAdd", {columns, Tensor::zeros(DType::f32, {2}).value()}},
      {"BiasAddGrad", {columns}},
      {"BiasAddGrad", {rows.reshaped({1, 2, n}).value()}, {{"data_format", "NCHW"}}},
      {"Softmax", {rows}},
      {"LogSoftmax", {columns}},
      {"SoftmaxCrossEntropyWithLogits", {columns, columns}},
      {"SparseSoftmaxCrossEntropyWithLogits", {columns, places}},
      {"TopKV2", {x, one}},
      {"InTopK", {columns, places}, {{"k", int64_t{1}}}},
      {"ArgMax", {x, zero}},
      {"Cumsum", {x, zero}},
      {"MatMul", {columns, Tensor::zeros(DType::f32, {2, 2}).value()}},
      {"MatMul", {rows, columns}},
      {"MatMul", {columns, columns}, {{"transpose_a", true}}},
      {"GatherV2", {x, places, zero}},
      {"Tile", {x, integers({2})}},
      {"Tile", {column, integers({1, 3})}},
      {"Transpose", {rows, integers({1, 0})}},
      {"Pad", {column, Tensor::of<int32_t>({2, 2}, {0, 1, 1, 0})}},
      {"BroadcastTo", {f, integers({count})}},
      {"ReverseV2", {column, integers({0})}},
      {"ConcatV2", {column, column, one}},
      {"Pack", {x, x}, {{"axis", int64_t{1}}}},
      {"Unpack", {columns}, {{"num", int64_t{2}}, {"axis", int64_t{1}}}},
      {"Split", {one, columns}, {{"num_split", int64_t{2}}}},
      {"Slice", {columns, integers({0, 1}), integers({-1, 1})}},
      {"StridedSlice", {columns, integers({0, 0}), integers({count, 2}), integers({1, 2})}},
      {"SelectV2", {flags, x, f}},
      {"Where", {x}},
      {"RandomUniform", {integers({count})}, {{"dtype", DType::f32}}},
      {"RandomStandardNormal", {integers({count})}, {{"dtype", DType::f32}}},
      {"RandomUniformInt", {integers({count}), zero, one}},
      {"RandomShuffle", {column}},
      {"ParameterizedTruncatedNormal", {integers({count}), f, f, Tensor::scalar(0.f), f}},
      {"Bincount", {places, one, *Tensor::zeros(DType::i32, {0})}},
      {"ConjugateTranspose", {complex_rows, integers({1, 0})}},
      {"ExtractVolumePatches",
       {line.reshaped({1, 1, 1, n, 1}).value()},
       {{"ksizes", ones}, {"strides", ones}, {"padding", "VALID"}}},
      {"QuantizeV2", {x, f, f}, {{"T", DType::qi8}}},
      {"QuantizeV2", {columns, pair, pair}, {{"T", DType::qi8}, {"axis", int64_t{1}}}},
      {"Dequantize", {steps, f, f}},
      {"RequantizationRange", {steps, f, f}},
      {"IsotonicRegression", {columns}},
      {"SobolSample", {one, Tensor::scalar(count), zero}},
      {"KMC2ChainInitialization", {x, Tensor::scalar<int64_t>(1)}},
      {"NearestNeighbors", {columns, pair.reshaped({1, 2}).value(), Tensor::scalar<int64_t>(1)}},
      {"BatchNormWithGlobalNormalization",
       {columns.reshaped({1, 1, n, 2}).value(), pair, pair, pair, pair},
       {{"variance_epsilon", 1.f}, {"scale_after_normalization", false}}},
      {"ScaleAndTranslate", {line, integers({1, count}), pair, pair}},
      {"ImageProjectiveTransformV2",
       {line, Tensor::zeros(DType::f32, {1, 8}).value(), integers({1, count})},
       {{"interpolation", "NEAREST"}}},
  };
}

struct LongLoops {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  LongLoops() {
    REQUIRE(register_all_ops(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }
  Status run(const Use& use) {
    return bench->run(use.op, use.inputs, {.attrs = use.attrs}).status();
  }
};

TEST_CASE("the loop of a kernel that has much to do ends when its step does, and says why") {
  LongLoops f;
  f.bench->cancellation().cancel(Status(Code::deadline_exceeded, "too late"));
  for (const Use& use : uses(33 * kPiece)) {
    CAPTURE(use.op);
    const Status status = f.run(use);
    CHECK_MESSAGE(status.code() == Code::cancelled, status.to_string());
    CHECK(status.is_consequence());
    CHECK(status.message().find("too late") != std::string_view::npos);
  }
}

TEST_CASE("a loop that nobody stops goes to its end, and a short one does not look") {
  LongLoops f;
  for (const Use& use : uses(3 * kPiece + 1)) {
    CAPTURE(use.op);
    const Status status = f.run(use);
    CHECK_MESSAGE(status.ok(), status.to_string());
  }
  f.bench->cancellation().cancel(cancelled("too late"));
  for (const Use& use : uses(10)) {
    CAPTURE(use.op);
    const Status status = f.run(use);
    CHECK_MESSAGE(status.ok(), status.to_string());
  }
}

TEST_CASE("pieces of a loop are all of it, in order") {
  CancelProbe probe;
  for (const int64_t n : {int64_t{0}, int64_t{1}, kPiece, kPiece + 1, 5 * kPiece}) {
    int64_t next = 0;
    CHECK(probe
              .in_pieces(n,
                         [&](int64_t begin, int64_t count) {
                           CHECK(begin == next);
                           CHECK((count > 0 && count <= kPiece));
                           next = begin + count;
                         })
              .ok());
    CHECK(next == n);
  }
}

}  // namespace
}  // namespace millrace
