// What the ops of layers say to inputs that no example shows: values in all their types, corner
// cases, and errors in the words that TensorFlow's clients know.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/op/infer.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

struct Layers {
  OpRegistry ops;
  Layers() { REQUIRE(register_nn(ops).ok()); }
  std::vector<Tensor> run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return *std::move(outputs);
  }
  std::string error(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    const auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    CHECK(outputs.status().code() == Code::invalid_argument);
    return outputs.status().message();
  }
};

Tensor line(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
Tensor matrix(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::of<float>(shape, values);
}
Tensor labels(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }

bool is_near(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const auto x = a.flat<float>(), y = b.flat<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(x[i] - y[i]) <= 1e-6f * (1 + std::abs(y[i])))) return false;
  }
  return true;
}

TEST_CASE("a gradient that is infinite or NaN stays so where an activation lets nothing through") {
  Layers f;
  const Tensor relu = f.run("ReluGrad", {line({kInf, kNan, 1}), line({-1, -1, kNan})})[0];
  CHECK(std::isnan(relu.flat<float>()[0]));
  CHECK(std::isnan(relu.flat<float>()[1]));
  CHECK(relu.flat<float>()[2] == 0);
  const Tensor elu = f.run("EluGrad", {line({1, 1}), line({kNan, -1})})[0];
  CHECK(elu == line({1, 0}));
}

TEST_CASE("the gradient of an activation needs both inputs in one shape") {
  Layers f;
  for (const char* op : {"ReluGrad", "EluGrad", "SoftplusGrad", "LeakyReluGrad"}) {
    CHECK(f.error(op, {line({1, 2}), matrix({2, 1}, {1, 2})}) ==
          str_cat("Inputs to operation node of type ", op,
                  " must have the same size and shape.  Input 0: [2] != input 1: [2,1]"));
  }
}

TEST_CASE("of no images a normalisation tells NaN, and keeps zeros") {
  Layers f;
  const Tensor none = Tensor::zeros(DType::f32, {0, 1, 1, 1}).value();
  const auto made = f.run("FusedBatchNorm", {none, line({1}), line({0}), line({3}), line({4})},
                          {{"is_training", false}});
  CHECK(std::isnan(made[1].flat<float>()[0]));
  CHECK(made[3] == line({0}));
}

TEST_CASE("biases go to the channels, wherever the format has them") {
  Layers f;
  const Tensor images = matrix({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(f.run("BiasAdd", {images, line({10, 20})})[0] ==
        matrix({2, 2, 1, 2}, {11, 22, 13, 24, 15, 26, 17, 28}));
  CHECK(f.run("BiasAdd", {images, line({10, 20})}, {{"data_format", "NCHW"}})[0] ==
        matrix({2, 2, 1, 2}, {11, 12, 23, 24, 15, 16, 27, 28}));
  CHECK(f.run("BiasAddGrad", {images})[0] == line({16, 20}));
  CHECK(f.run("BiasAddGrad", {images}, {{"data_format", "NCHW"}})[0] == line({14, 22}));
  CHECK(f.run("BiasAddGrad", {Tensor::zeros(DType::f32, {0, 2}).value()})[0] == line({0, 0}));
  CHECK(f.run("BiasAdd", {Tensor::zeros(DType::f32, {0, 2}).value(), line({1, 2})})[0].shape() ==
        Shape{0, 2});
}

TEST_CASE("a bias's gradient is summed wider than its type") {
  Layers f;
  Tensor many = Tensor::zeros(DType::f16, {5000, 1}).value();
  for (Half& one : many.mutable_flat<Half>()) one = static_cast<Half>(1.0f);
  CHECK(static_cast<float>(f.run("BiasAddGrad", {many})[0].flat<Half>()[0]) == 5000);
  CHECK(f.run("BiasAddGrad", {Tensor::of<int8_t>({2, 1}, {100, 100})})[0] ==
        Tensor::vector<int8_t>({-56}));
}

TEST_CASE("biases that don't fit are refused in TensorFlow's words") {
  Layers f;
  const Tensor value = matrix({1, 2}, {1, 3});
  CHECK(f.error("BiasAdd", {line({1, 3}), line({1, 3})}) ==
        "Input tensor must be at least 2D: [2]");
  CHECK(f.error("BiasAddGrad", {line({1, 3})}) == "Input tensor must be at least 2D: [2]");
  CHECK(f.error("BiasAdd", {value, value}) == "Biases must be 1D: [1,2]");
  CHECK(f.error("BiasAddV1", {value, line({1, 2, 3})}) ==
        "Must provide as many biases as the last dimension of the input tensor: [3] vs. [1,2]");
}

TEST_CASE("a softmax neither overflows nor loses small shares, and goes along the last axis only") {
  Layers f;
  CHECK(is_near(f.run("Softmax", {matrix({1, 2, 2}, {1000, 1000, -1000, -1001})})[0],
                matrix({1, 2, 2}, {0.5f, 0.5f, 0.73105858f, 0.26894142f})));
  CHECK(is_near(f.run("Softmax", {line({1, -kInf, 2})})[0], line({0.26894142f, 0, 0.73105858f})));
  CHECK(is_near(f.run("LogSoftmax", {line({0, 200})})[0], line({-200, 0})));
  CHECK(f.run("Softmax", {Tensor::zeros(DType::f32, {3, 0}).value()})[0].shape() == Shape{3, 0});
  CHECK(f.error("Softmax", {Tensor::scalar(1.0f)}) == "logits must have >= 1 dimension, got []");
}

TEST_CASE("logits and labels are broadcast to one matrix, or refused") {
  Layers f;
  const auto both =
      f.run("SoftmaxCrossEntropyWithLogits", {matrix({2, 1}, {1, 3}), matrix({1, 2}, {0, 1})});
  CHECK(is_near(both[0], line({0.6931472f, 0.6931472f})));
  CHECK(is_near(both[1], matrix({2, 2}, {0.5f, -0.5f, 0.5f, -0.5f})));
  const auto rows =
      f.run("SoftmaxCrossEntropyWithLogits", {line({1, 2}), matrix({2, 2}, {0, 1, 1, 0})});
  CHECK(is_near(rows[0], line({0.31326166f, 1.3132616f})));
  const auto empty =
      f.run("SoftmaxCrossEntropyWithLogits",
            {Tensor::zeros(DType::f32, {2, 0}).value(), Tensor::zeros(DType::f32, {2, 0}).value()});
  CHECK(empty[0] == line({0, 0}));
  CHECK(f.error("SoftmaxCrossEntropyWithLogits",
                {matrix({2, 2}, {1, 2, 3, 4}), matrix({1, 3}, {0, 1, 2})}) ==
        "logits and labels must be broadcastable: logits_size=[2,2] labels_size=[1,3]");
  CHECK(f.error("SoftmaxCrossEntropyWithLogits", {line({1, 2}), line({0, 1})})
            .starts_with("logits and labels must be either 2-dimensional, or broadcasted"));
}

TEST_CASE("labels that are no class, or not as many as rows, are refused") {
  Layers f;
  const std::string op = "SparseSoftmaxCrossEntropyWithLogits";
  const Tensor logits = matrix({2, 2}, {1, 2, 3, 4});
  CHECK(
      f.error(op, {logits, labels({0, 2})})
          .starts_with("Received a label value of 2 which is outside the valid range of [0, 2)."));
  CHECK(f.error(op, {logits, labels({-1, 0})})
            .starts_with("Received a label value of -1 which is outside"));
  CHECK(f.error(op, {logits, labels({0, 1, 1})}) ==
        "logits and labels must have the same first dimension, got logits shape [2,2] and labels "
        "shape [3]");
  CHECK(f.error(op, {line({1, 2}), labels({0, 1})}) == "logits must be 2-D, but got shape [2]");
  CHECK(f.error(op, {logits, Tensor::of<int64_t>({1, 2}, {0, 1})}) ==
        "labels must be 1-D, but got shape [1,2]");
  CHECK(f.error(op, {Tensor::zeros(DType::f32, {2, 0}).value(), labels({0, 1})}) ==
        "Must have at least one class, but got logits shape [2,0]");
}

TEST_CASE("the gradient of a cross entropy may lie in the buffer of its logits") {
  Layers f;
  Bench bench(f.ops);
  std::vector<Value> inputs;
  inputs.emplace_back(matrix({2, 2}, {1, 2, 5, 5}));
  inputs.emplace_back(labels({1, 0}));
  const void* logits = inputs[0].tensor.data();
  const auto outputs = bench.run("SparseSoftmaxCrossEntropyWithLogits", std::move(inputs),
                                 {.attrs = {{"T", DType::f32}, {"Tlabels", DType::i64}}});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  CHECK((*outputs)[1].tensor.data() == logits);
  CHECK(is_near((*outputs)[0].tensor, line({0.31326166f, 0.6931472f})));
  CHECK(is_near((*outputs)[1].tensor, matrix({2, 2}, {0.26894142f, -0.26894142f, -0.5f, 0.5f})));
}

TEST_CASE("the largest of long rows are found, and of equal ones the first") {
  Layers f;
  constexpr int32_t kColumns = 5000;
  Tensor input = Tensor::zeros(DType::i32, {2, kColumns}).value();
  // Every value of 0 .. 999 five times, in an order that is neither up nor down.
  for (int32_t i = 0; i < 2 * kColumns; ++i)
    input.mutable_flat<int32_t>()[i] = static_cast<int32_t>((i % kColumns) * 7919LL % 1000);
  const auto top =
      f.run("TopKV2", {input, Tensor::scalar<int32_t>(100)}, {{"index_type", DType::i64}});
  REQUIRE(top[1].dtype() == DType::i64);
  for (int64_t i = 0; i < 200; ++i) {
    const int32_t value = top[0].flat<int32_t>()[i];
    CHECK(value == 999 - static_cast<int32_t>(i % 100) / 5);
    CHECK(input.flat<int32_t>()[(i / 100) * kColumns + top[1].flat<int64_t>()[i]] == value);
    if (i % 5 != 0) CHECK(top[1].flat<int64_t>()[i - 1] < top[1].flat<int64_t>()[i]);
  }
}

TEST_CASE("numbers of every kind are ranked by their value, zeros of both signs as one") {
  Layers f;
  const auto top = [&](Tensor input, int32_t k) {
    return f.run("TopKV2", {std::move(input), Tensor::scalar(k)})[1];
  };
  CHECK(top(line({-kInf, -1, 0.0f, -0.0f, 1e-40f, kInf, kNan}), 7) ==
        Tensor::vector<int32_t>({6, 5, 4, 2, 3, 1, 0}));
  CHECK(top(Tensor::vector<int64_t>({INT64_MIN, -1, INT64_MAX, 0}), 4) ==
        Tensor::vector<int32_t>({2, 3, 1, 0}));
  CHECK(top(Tensor::vector<uint64_t>({0, UINT64_MAX, 1}), 3) == Tensor::vector<int32_t>({1, 2, 0}));
  CHECK(top(Tensor::vector<double>({-1e300, 1e-300, 1e300, -1e-300}), 4) ==
        Tensor::vector<int32_t>({2, 1, 3, 0}));
}

TEST_CASE("the largest alone is the first of the largest three, wherever it stands") {
  Layers f;
  constexpr int64_t kColumns = 300;
  for (const float special : {7.0f, kNan, kInf}) {
    for (const int64_t at : {0, 63, 64, 170, 299}) {
      Tensor input = *Tensor::allocate(DType::f32, {kColumns});
      for (int64_t i = 0; i < kColumns; ++i)
        input.mutable_flat<float>()[i] = static_cast<float>(i % 5);
      input.mutable_flat<float>()[at] = special;
      input.mutable_flat<float>()[kColumns - 1] = special;
      const auto top = [&](int32_t k) {
        return f.run("TopKV2", {input, Tensor::scalar(k)})[1].flat<int32_t>()[0];
      };
      CHECK(top(1) == at);
      CHECK(top(3) == at);
    }
  }
}

TEST_CASE("a k that can't be is refused in TensorFlow's words") {
  Layers f;
  const auto k = [](int32_t value) { return Tensor::scalar(value); };
  CHECK(f.error("TopKV2", {line({1, 3}), k(3)}) ==
        "input must have at least k columns. Had 2, needed 3");
  CHECK(f.error("TopKV2", {line({1, 3}), k(-3)}) == "Need k >= 0, got -3");
  CHECK(f.error("TopKV2", {line({1, 3}), Tensor::vector<int32_t>({1, 2})}) ==
        "k must be scalar, got shape [2]");
  CHECK(f.error("TopKV2", {Tensor::scalar(3.0f), k(1)}) == "input must be >= 1-D, got shape []");
  CHECK(f.error("TopKV2", {Tensor::zeros(DType::u8, {40000}).value(), k(1)},
                {{"index_type", DType::i16}})
            .starts_with("input has 40000 columns, more than indices of type int16 can count"));
  const Tensor row = matrix({1, 2}, {1, 2});
  const Tensor target = Tensor::vector<int32_t>({1});
  CHECK(f.error("InTopKV2", {line({1, 2}), target, k(2)}) == "predictions must be 2-dimensional");
  CHECK(f.error("InTopKV2", {row, Tensor::vector<int32_t>({1, 2}), k(2)}) ==
        "First dimension of predictions 1 must match length of targets 2");
  CHECK(f.error("InTopKV2", {row, target, target}) == "k must be 0-D, got shape [1]");
  CHECK(f.run("InTopKV2", {row, target, k(-2)})[0] == Tensor::vector<bool>({false}));
}

TEST_CASE("the approximate top is the top, along any axis and from either end") {
  Layers f;
  const Tensor volume = Tensor::of<float>({2, 3, 2}, {1, 9, 5, kNan, 3, 7, 6, 6, 6, 2, -kInf, 6});
  const auto top = [&](int64_t k, int64_t axis, bool is_max) {
    return f.run("ApproxTopK", {volume},
                 {{"k", k}, {"reduction_dimension", axis}, {"is_max_k", is_max}});
  };
  const auto places = [](std::initializer_list<int32_t> all) {
    return Tensor::of<int32_t>({2, 2, 2}, all);
  };
  CHECK(top(2, 1, true)[1] == places({1, 1, 2, 0, 0, 0, 1, 2}));
  CHECK(top(2, -2, false)[1] == places({0, 2, 2, 0, 2, 1, 0, 0}));
  CHECK(top(2, 1, false)[0] == Tensor::of<float>({2, 2, 2}, {1, 7, 3, 9, -kInf, 2, 6, 6}));
  CHECK(top(1, 0, true)[1] == Tensor::of<int32_t>({1, 3, 2}, {1, 0, 1, 0, 0, 0}));
  CHECK(top(0, 2, true)[0].shape() == Shape{2, 3, 0});
  // What tells how far it may be from exact tells nothing.
  const Attrs loose = {{"k", int64_t{2}}, {"recall_target", 0.1f}, {"aggregate_to_topk", false}};
  CHECK(f.run("ApproxTopK", {line({3, 9, 4})}, loose)[0] == line({9, 4}));
}

TEST_CASE(
    "a line longer than what is ranked at once is ranked as a whole, also with steps between") {
  Layers f;
  constexpr int64_t kLength = 5000;
  std::vector<float> across(2 * kLength);
  for (int64_t i = 0; i < kLength; ++i) {
    across[static_cast<size_t>(2 * i)] = static_cast<float>(i * 7919 % kLength);
    across[static_cast<size_t>(2 * i + 1)] = static_cast<float>(-i);
  }
  const Tensor columns = Tensor::vector<float>(across).reshaped({kLength, 2}).value();
  const auto top =
      f.run("ApproxTopK", {columns}, {{"k", int64_t{2}}, {"reduction_dimension", int64_t{0}}});
  CHECK(top[0] == matrix({2, 2}, {kLength - 1, 0, kLength - 2, -1}));
}

TEST_CASE("more than there are can't be the top, nor along an axis that is not there") {
  Layers f;
  const auto refusal = [&](int64_t k, int64_t axis) {
    return f.error("ApproxTopK", {line({1, 2})}, {{"k", k}, {"reduction_dimension", axis}});
  };
  CHECK(refusal(3, -1).find("at least k columns. Had 2, needed 3") != std::string::npos);
  CHECK(refusal(1, 1).find("reduction_dimension") != std::string::npos);
  CHECK(refusal(int64_t{1} << 62, -1).find("at least k columns") != std::string::npos);
}

// --- fractional pools ---

Tensor counted_image(int64_t rows, int64_t columns) {
  std::vector<float> all;
  for (int64_t i = 0; i < rows * columns; ++i) all.push_back(static_cast<float>(i));
  return Tensor::vector<float>(all).reshaped({1, rows, columns, 1}).value();
}

Attrs pooled_by(std::vector<float> ratio, bool regular, bool overlapping) {
  return {{"pooling_ratio", std::move(ratio)},
          {"pseudo_random", regular},
          {"overlapping", overlapping},
          {"deterministic", true},
          {"seed", int64_t{3}},
          {"seed2", int64_t{5}}};
}

TEST_CASE("fractional pools are cut where TensorFlow cuts them for the same seeds") {
  Layers f;
  const std::vector<float> ratio = {1, 1.5, 1.8f, 1};
  const Tensor image = counted_image(7, 9);
  const auto random = f.run("FractionalMaxPool", {image}, pooled_by(ratio, false, false));
  CHECK(random[1] == labels({0, 1, 3, 5, 7}));
  CHECK(random[2] == labels({0, 2, 3, 5, 7, 9}));
  CHECK(random[0] == matrix({1, 4, 5, 1}, {1,  2,  4,  6,  8,  19, 20, 22, 24, 26,
                                           37, 38, 40, 42, 44, 55, 56, 58, 60, 62}));
  const auto regular = f.run("FractionalMaxPool", {image}, pooled_by(ratio, true, true));
  CHECK(regular[2] == labels({0, 2, 4, 5, 7, 9}));
  CHECK(regular[0] == matrix({1, 4, 5, 1}, {11, 13, 14, 16, 17, 29, 31, 32, 34, 35,
                                            47, 49, 50, 52, 53, 56, 58, 59, 61, 62}));
  const auto means = f.run("FractionalAvgPool", {image}, pooled_by(ratio, true, true));
  CHECK(means[0] ==
        matrix({1, 4, 5, 1}, {5.5f, 7.5f, 9,     10.5f, 12,    19,    21,    22.5f, 24,    25.5f,
                              37,   39,   40.5f, 42,    43.5f, 50.5f, 52.5f, 54,    55.5f, 57}));
}

TEST_CASE("every window of a fractional pool has an element, whatever the ratio") {
  Layers f;
  for (const bool regular : {false, true}) {
    for (const float ratio : {1.f, 1.001f, 1.4142f, 2.f, 3.3166f, 6.9f}) {
      const auto cuts = f.run("FractionalMaxPool", {counted_image(7, 50)},
                              pooled_by({1, ratio, ratio, 1}, regular, false));
      for (const int slot : {1, 2}) {
        const auto at = cuts[static_cast<size_t>(slot)].flat<int64_t>();
        CHECK(at.front() == 0);
        CHECK(at.back() == (slot == 1 ? 7 : 50));
        CHECK(std::adjacent_find(at.begin(), at.end(), std::greater_equal<>()) == at.end());
      }
    }
  }
}

TEST_CASE("fractional pools refuse what they can't cut") {
  Layers f;
  const auto refusal = [&](std::vector<float> ratio, const Tensor& image) {
    return f.error("FractionalMaxPool", {image}, {{"pooling_ratio", std::move(ratio)}});
  };
  CHECK(refusal({1, 0.5f, 1, 1}, counted_image(2, 2)).find("cannot be smaller than 1, got: 0.5") !=
        std::string::npos);
  CHECK(refusal({1, kNan, 1, 1}, counted_image(2, 2)).find("cannot be smaller than 1") !=
        std::string::npos);
  CHECK(refusal({1, 10, 1, 1}, counted_image(7, 2))
            .find("higher than input dimension size for "
                  "dimension 1. Input dim size: 7") != std::string::npos);
  CHECK(f.error("FractionalMaxPool", {counted_image(2, 2)},
                {{"pooling_ratio", std::vector<float>{1, 1, 1, 1}}, {"seed", int64_t{1}}})
            .find("Both seed and seed2 should be 0") != std::string::npos);
}

TEST_CASE("gradients of fractional pools refuse cuts that reach outside or leave a window empty") {
  Layers f;
  const Tensor image = counted_image(3, 3), pooled = matrix({1, 2, 2, 1}, {4, 5, 7, 8});
  const auto refusal = [&](const Tensor& rows) {
    std::string max =
        f.error("FractionalMaxPoolGrad", {image, pooled, pooled, rows, labels({0, 2, 3})});
    const std::string mean =
        f.error("FractionalAvgPoolGrad", {labels({1, 3, 3, 1}), pooled, rows, labels({0, 2, 3})});
    CHECK(max == mean);
    return max;
  };
  CHECK(refusal(Tensor::scalar<int64_t>(0)).find("must be a vector") != std::string::npos);
  CHECK(refusal(labels({-1, 2, 3})).find("Row sequence tensor values must not be negative") == 0);
  CHECK(refusal(labels({0, 3})).find("must have at least 3 elements, but got 2") !=
        std::string::npos);
  CHECK(refusal(labels({0, 0, 3})).find("leaves window 0") != std::string::npos);
  CHECK(refusal(labels({0, 3, 9})).find("leaves window 1") != std::string::npos);
  CHECK(refusal(labels({2, 1, 3})).find("leaves window 0") != std::string::npos);
  // Overlapping windows have an element more, but none beyond the last there is.
  const Tensor far = labels({0, 2, std::numeric_limits<int64_t>::max()});
  CHECK(run_op(f.ops, "FractionalAvgPoolGrad",
               {labels({1, 3, 3, 1}), pooled, far, labels({0, 2, 3})}, {{"overlapping", true}})
            .ok());
  CHECK(f.error("FractionalMaxPoolGrad", {image, matrix({1, 2, 2, 1}, {4, 5, 7, 9}), pooled,
                                          labels({0, 2, 3}), labels({0, 2, 3})})
            .find("tensor_out_dup is not the same as tensor_out") == 0);
  CHECK(f.error("FractionalAvgPoolGrad",
                {labels({2, 3, 3, 1}), pooled, labels({0, 2, 3}), labels({0, 2, 3})})
            .find("their batches or channels differ") != std::string::npos);
}

// --- convolutions ---

TEST_CASE("a convolution needs as many axes as batch_dims and strides say, and groups that fit") {
  Layers f;
  const Tensor image = counted_image(2, 2);
  const auto refusal = [&](const Tensor& filter, Attrs attrs) {
    attrs.set("padding", "VALID");
    return f.error("Conv", {image, filter}, attrs);
  };
  const Tensor one = matrix({1, 1, 1, 1}, {1});
  const std::vector<int64_t> steps = {1, 1, 1, 1};
  CHECK(refusal(one, {{"strides", steps}, {"batch_dims", int64_t{2}}}).find("but has 4 in all") !=
        std::string::npos);
  for (const int64_t none : {int64_t{-1}, INT64_MAX})
    CHECK(refusal(one, {{"strides", steps}, {"batch_dims", none}}).find("not negative") !=
          std::string::npos);
  CHECK(refusal(one, {{"strides", std::vector<int64_t>{1, 1}}}).find("must specify 4 dimensions") !=
        std::string::npos);
  CHECK(refusal(one, {{"strides", steps}, {"dilations", std::vector<int64_t>{1}}})
            .find("dimensions") != std::string::npos);
  CHECK(refusal(one, {{"strides", steps}, {"groups", int64_t{2}}}).find("times groups: 1 vs 1") !=
        std::string::npos);
  CHECK(refusal(matrix({1, 0, 1, 1}, {}), {{"strides", steps}})
            .find("filter must not have zero elements") != std::string::npos);
}

TEST_CASE("the gradient by a filter of no outputs is one of no elements") {
  Layers f;
  const Attrs attrs = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "VALID"}};
  const auto made =
      f.run("Conv2DBackpropFilter",
            {counted_image(2, 2), Tensor::vector<int32_t>({2, 2, 1, 0}), matrix({1, 1, 1, 0}, {})},
            attrs);
  CHECK(made[0].shape() == Shape{2, 2, 1, 0});
  CHECK(f.error("Conv2DBackpropFilter",
                {counted_image(2, 2), Tensor::vector<int32_t>({0}), matrix({1, 1, 1, 1}, {1})},
                attrs)
            .find("4-dimensional") != std::string::npos);
}

TEST_CASE("the rule leaves it to the kernel to refuse what TensorFlow's client lets into a graph") {
  Layers f;
  const auto rule = [&](std::string_view op, const Shape& filter, std::vector<int64_t> strides) {
    const Attrs given = {{"strides", std::move(strides)}, {"padding", "SAME"}};
    const OpDef* def = f.ops.find(op);
    REQUIRE(def != nullptr);
    const DType types[] = {DType::f32, DType::f32};
    const auto attrs = complete_attrs(*def, types, given);
    REQUIRE(attrs.ok());
    const std::vector<PartialShape> inputs = {Shape{1, 4, 4, 1}, filter};
    InferContext context({*def, *attrs}, inputs, {}, 1);
    const Status status = def->infer(context);
    return status.ok() ? context.output(0).to_string() : status.to_string();
  };
  for (const char* op : {"Conv2D", "Conv"}) {
    CHECK(rule(op, {2, 2, 1, 3}, {1, 2, 2, 1}) == "[1,2,2,3]");
    CHECK(rule(op, {2, 0, 1, 3}, {1, 2, 2, 1}) == "[1,?,?,?]");
    CHECK(rule(op, {2, 2, 1, 3}, {1, 2, 2, 2}) == PartialShape::unknown().to_string());
  }
}

}  // namespace
}  // namespace millrace
