// Loops against the same computed the simplest way, in sizes that reach every branch of blocking,
// lanes and strides.
#include <cmath>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& ops_with_loops() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return *ops;
}

Tensor run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  auto outputs = run_op(ops_with_loops(), op, std::move(inputs), std::move(attrs));
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  return (*outputs)[0];
}

// Small whole numbers, so that sums of floats are exact.
Tensor counted(const Shape& shape, int modulus = 7) {
  Tensor made = *Tensor::allocate(DType::f32, shape);
  int next = 0;
  for (float& x : made.mutable_flat<float>()) x = static_cast<float>(next++ * 5 % modulus - 2);
  return made;
}

TEST_CASE("a product of odd sizes is the sum of products, however it is turned") {
  const int rows = 9, inner = 261, columns = 270;
  const Tensor a = counted({rows, inner}), b = counted({inner, columns}, 11);
  Tensor expected = *Tensor::zeros(DType::f32, {rows, columns});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      for (int k = 0; k < inner; ++k)
        expected.mutable_flat<float>()[i * columns + j] +=
            a.flat<float>()[i * inner + k] * b.flat<float>()[k * columns + j];
  CHECK(run("MatMul", {a, b}) == expected);
  const Tensor perm = Tensor::vector<int32_t>({1, 0});
  const Tensor at = run("Transpose", {a, perm}), bt = run("Transpose", {b, perm});
  CHECK(run("MatMul", {at, bt}, {{"transpose_a", true}, {"transpose_b", true}}) == expected);
  CHECK(run("Transpose", {at, perm}) == a);
}

TEST_CASE("products that threads share are those of one thread, in batches that broadcast too") {
  ThreadPool pool(4);
  const auto product = [](const char* op, std::vector<Tensor> inputs, Attrs attrs, Runner* runner) {
    Bench bench(ops_with_loops());
    bench.step().pool = runner;
    auto made = bench.run(op, {inputs.begin(), inputs.end()}, {.attrs = std::move(attrs)});
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return (*made)[0].tensor;
  };
  const auto in_doubles = [](const Tensor& x) {
    return run("Cast", {x}, {{"DstT", DType::f64}, {"SrcT", DType::f32}});
  };
  const Tensor tall = counted({700, 90}), wide = counted({90, 800}, 11);
  const Tensor batch = counted({3, 1, 40, 90}), others = counted({2, 90, 70}, 11);
  for (const auto& [op, a, b] : {std::tuple("MatMul", tall, wide),
                                 {"MatMul", tall, counted({90, 3})},
                                 {"BatchMatMulV2", batch, others}}) {
    const Tensor alone = product(op, {a, b}, {}, nullptr);
    CHECK(product(op, {a, b}, {}, &pool) == alone);
    CHECK(in_doubles(alone) == product(op, {in_doubles(a), in_doubles(b)}, {}, nullptr));
  }
}

TEST_CASE("a large product of halves is that of floats, rounded once") {
  const Tensor a = counted({64, 90}), b = counted({90, 64}, 11);
  for (const DType narrow : {DType::f16, DType::bf16}) {
    const auto as = [](const Tensor& x, DType to) {
      return run("Cast", {x}, {{"SrcT", x.dtype()}, {"DstT", to}});
    };
    CHECK(run("MatMul", {as(a, narrow), as(b, narrow)}) == as(run("MatMul", {a, b}), narrow));
  }
}

TEST_CASE("sums along any axes are those of a walk through all elements") {
  const Tensor x = counted({5, 19, 3, 21});
  for (int mask = 0; mask < 16; ++mask) {
    std::vector<int32_t> axes;
    std::vector<int64_t> dims;
    for (int axis = 0; axis < 4; ++axis) {
      if ((mask >> axis & 1) != 0) axes.push_back(axis);
      dims.push_back((mask >> axis & 1) != 0 ? 1 : x.shape().dim(axis));
    }
    Tensor expected = *Tensor::zeros(DType::f32, *Shape::create(dims));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int axis = 3; axis >= 0; --axis) {
        const int64_t index = rest % x.shape().dim(axis);
        rest /= x.shape().dim(axis);
        if (dims[axis] != 1) at += index * stride;
        stride *= dims[axis];
      }
      expected.mutable_flat<float>()[at] += x.flat<float>()[i];
    }
    CAPTURE(mask);
    const Tensor indices = Tensor::vector<int32_t>(std::span<const int32_t>(axes));
    CHECK(run("Sum", {x, indices}, {{"keep_dims", true}}) == expected);
  }
}

TEST_CASE("broadcasting along any pattern of ones is that of repeated operands") {
  const std::vector<Shape> shapes = {{4, 3, 5}, {1, 3, 5}, {4, 1, 5}, {4, 3, 1}, {4, 1, 1},
                                     {1, 1, 5}, {3, 5},    {5},       {1},       {}};
  const Tensor full = Tensor::vector<int32_t>({4, 3, 5});
  for (const Shape& a_shape : shapes) {
    for (const Shape& b_shape : shapes) {
      const Tensor a = counted(a_shape), b = counted(b_shape, 11);
      CAPTURE(a_shape.to_string());
      CAPTURE(b_shape.to_string());
      const Tensor difference = run("Sub", {a, b});
      const Tensor repeated =
          run("Sub", {run("BroadcastTo", {a, full}), run("BroadcastTo", {b, full})});
      CHECK(run("BroadcastTo", {difference, full}) == repeated);
    }
  }
}

TEST_CASE("a buffer that nobody else has is worked on in place, a shared one never") {
  Tensor own = counted({64});
  const void* data = own.data();
  std::vector<Value> inputs;
  inputs.emplace_back(std::move(own));
  Bench bench(ops_with_loops());
  const auto in_place = bench.run("Neg", std::move(inputs));
  CHECK((*in_place)[0].tensor.data() == data);
  const Tensor shared = counted({64}), copy = *shared.clone();
  CHECK(run("Neg", {shared}).data() != shared.data());
  CHECK(run("Add", {shared, shared}).data() != shared.data());
  CHECK(shared == copy);
}

TEST_CASE("a sum of many floats stays accurate") {
  Tensor many = *Tensor::allocate(DType::f32, {10'000'000});
  for (float& x : many.mutable_flat<float>()) x = 0.1f;
  const Tensor axis = Tensor::scalar<int32_t>(0);
  CHECK(run("Sum", {many, axis}).item<float>() == doctest::Approx(1e6).epsilon(1e-6));
  CHECK(run("Mean", {many, axis}).item<float>() == doctest::Approx(0.1).epsilon(1e-6));
}

TEST_CASE("every type is cast to every type and back") {
  const std::vector<DType> types = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,
                                    DType::i16, DType::i32,  DType::i64, DType::u8,  DType::u16,
                                    DType::u32, DType::u64,  DType::c64, DType::c128};
  const Tensor small = Tensor::vector<int32_t>({0, 1, 2, 100});
  for (const DType from : types) {
    const Tensor value = run("Cast", {small}, {{"DstT", from}});
    for (const DType to : types) {
      const Tensor there = run("Cast", {value}, {{"DstT", to}});
      CHECK(run("Cast", {there}, {{"DstT", DType::i32}}) == small);
    }
    const Tensor truth = run("Cast", {value}, {{"DstT", DType::boolean}});
    CHECK(truth == Tensor::vector<bool>({false, true, true, true}));
  }
}

TEST_CASE("floats of eight bits take the nearest number, and say what was too large") {
  const auto rounded = [](DType to, std::initializer_list<float> values) {
    const Tensor small = run("Cast", {Tensor::vector(values)}, {{"DstT", to}});
    const Tensor back = run("Cast", {small}, {{"DstT", DType::f32}});
    const auto numbers = back.flat<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  const float infinity = std::numeric_limits<float>::infinity();
  // Ties go to even, below the least normal number too.
  CHECK(
      rounded(DType::f8_e5m2, {3.1f, -448, 61439, 61440, -1e6f, 0x1p-16f, 0x1p-17f, 0x1.1p-17f}) ==
      std::vector<float>({3, -448, 57344, infinity, -infinity, 0x1p-16f, 0, 0x1p-16f}));
  CHECK(rounded(DType::f8_e4m3fn, {3.1f, -448, 464, 0x1p-9f, 0x1p-10f, 0x1.8p-9f, 31, 0x1p-6f}) ==
        std::vector<float>({3, -448, 448, 0x1p-9f, 0, 0x1p-8f, 32, 0x1p-6f}));
  for (const float beyond : rounded(DType::f8_e4m3fn, {465, -1e6f, infinity, std::nanf("")}))
    CHECK(std::isnan(beyond));
  CHECK(std::isnan(rounded(DType::f8_e5m2, {std::nanf("")})[0]));
}

TEST_CASE("every number of eight bits comes back from every float as the very same bits") {
  std::vector<uint8_t> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
  for (const DType eight : {DType::f8_e5m2, DType::f8_e4m3fn}) {
    Tensor codes = *Tensor::allocate(eight, {256});
    std::memcpy(codes.mutable_data(), all.data(), all.size());
    const Tensor values = run("Cast", {codes}, {{"DstT", DType::f32}});
    for (const DType through : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      const Tensor there = run("Cast", {codes}, {{"DstT", through}});
      const Tensor back = run("Cast", {there}, {{"DstT", eight}});
      for (size_t i = 0; i < all.size(); ++i) {
        if (std::isnan(values.flat<float>()[i])) continue;
        CHECK(static_cast<const uint8_t*>(back.data())[i] == all[i]);
      }
    }
  }
  const Tensor three = run("Cast", {Tensor::vector<float>({3})}, {{"DstT", DType::f8_e5m2}});
  CHECK(static_cast<const uint8_t*>(three.data())[0] == 0x42);
  const Tensor other = run("Cast", {three}, {{"DstT", DType::f8_e4m3fn}});
  CHECK(static_cast<const uint8_t*>(other.data())[0] == 0x44);
  // Whole numbers come of them, and none becomes one.
  const Tensor whole = run("Cast", {three}, {{"DstT", DType::i32}});
  CHECK(whole == Tensor::vector<int32_t>({3}));
  CHECK(run_op(ops_with_loops(), "Cast", {whole}, {{"DstT", DType::f8_e5m2}}).status().code() ==
        Code::unimplemented);
}

TEST_CASE("complex numbers are clipped part by part") {
  using C = std::complex<float>;
  const Tensor t = Tensor::vector<C>({{1, 2}, {0, 0}, {5, -1}, {3, 0}});
  CHECK(run("ClipByValue", {t, Tensor::scalar(C(1, 1)), Tensor::scalar(C(4, 0))}) ==
        Tensor::vector<C>({{1, 1}, {1, 1}, {4, 1}, {3, 1}}));
  CHECK(run("ClipByValue", {t, Tensor::vector<C>({1, 2, 3, 4}), Tensor::scalar(C(4, 0))}) ==
        Tensor::vector<C>({{1, 0}, {2, 0}, {4, 0}, {4, 0}}));
}

// Numbers of all kinds, none of which a sum of floats could hide.
Tensor varied(const Shape& shape, float scale = 0.37f) {
  Tensor made = *Tensor::allocate(DType::f32, shape);
  uint32_t next = 1;
  for (float& x : made.mutable_flat<float>()) {
    next = next * 1664525u + 1013904223u;
    x = scale * (static_cast<float>(next >> 8) / 4194304.0f - 2.0f);
  }
  return made;
}

TEST_CASE("kernels that threads share give bit for bit what one thread gives") {
  struct Use {
    std::string_view op;
    std::vector<Tensor> inputs;
    Attrs attrs = {};
  };
  const Shape shape{600, 700};
  const Tensor x = varied(shape), y = varied(shape, 0.11f), row = varied({700});
  const Tensor halves = run("Cast", {x}, {{"SrcT", DType::f32}, {"DstT", DType::f16}});
  const Tensor flags = run("Less", {x, y});
  const Tensor zero = Tensor::scalar<int32_t>(0), one = Tensor::scalar<int32_t>(1);
  const Tensor both = Tensor::vector<int32_t>({0, 1}), turned = Tensor::vector<int32_t>({1, 0});
  const Tensor size = Tensor::vector<int32_t>({600, 700});
  const Tensor places = run("Cast",
                            {run("Mod", {run("Range", {zero, Tensor::scalar<int32_t>(90000), one}),
                                         Tensor::scalar<int32_t>(599)})},
                            {{"SrcT", DType::i32}, {"DstT", DType::i64}});
  const Attrs seeds = {{"dtype", DType::f32}, {"seed", int64_t{3}}, {"seed2", int64_t{4}}};
  const Use uses[] = {
      {"Exp", {x}},
      {"Tanh", {halves}},
      {"Add", {x, row}},
      {"Sum", {x, zero}},
      {"Sum", {x, one}},
      {"Mean", {x, both}},
      {"Max", {halves, both}},
      {"Prod", {y, zero}},
      {"L2Loss", {x}},
      {"ReluGrad", {x, y}},
      {"LeakyRelu", {x}},
      {"Cast", {x}, {{"SrcT", DType::f32}, {"DstT", DType::i32}}},
      {"SelectV2", {flags, x, row}},
      {"Softmax", {x}},
      {"LogSoftmax", {halves}},
      {"SoftmaxCrossEntropyWithLogits", {x, y}},
      {"ArgMax", {x, one}},
      {"ArgMin", {x, zero}},
      {"TopKV2", {x, Tensor::scalar<int32_t>(9)}},
      {"Transpose", {x, turned}},
      {"Tile", {x, Tensor::vector<int32_t>({2, 2})}},
      {"GatherV2", {x, places, zero}},
      {"GatherV2", {row, places, zero}},
      {"RandomUniform", {size}, seeds},
      {"RandomStandardNormal", {size}, seeds},
      {"TruncatedNormal", {size}, seeds},
      {"RandomUniformInt", {size, zero, Tensor::scalar<int32_t>(1000)}, {{"seed", int64_t{5}}}},
  };
  ThreadPool pool(3);
  for (const Use& use : uses) {
    CAPTURE(use.op);
    const auto outputs = [&](Runner* runner) {
      Bench bench(ops_with_loops());
      bench.step().pool = runner;
      auto made = bench.run(use.op, {use.inputs.begin(), use.inputs.end()}, {.attrs = use.attrs});
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      return *std::move(made);
    };
    const std::vector<Value> alone = outputs(nullptr), shared = outputs(&pool);
    REQUIRE(alone.size() == shared.size());
    for (size_t i = 0; i < alone.size(); ++i) CHECK(alone[i].tensor == shared[i].tensor);
  }
}

TEST_CASE("the best of a row is the first of equals, wherever it lies, and NaN in front stays") {
  for (const int64_t length : {1, 5, 255, 256, 257, 1000}) {
    for (const int64_t best : {int64_t{0}, length / 2, length - 1}) {
      Tensor x = counted({3, length});
      for (int64_t row = 0; row < 3; ++row)
        for (const int64_t at : {best, length - 1})
          x.mutable_flat<float>()[static_cast<size_t>(row * length + at)] = 9;
      const Tensor found = run("ArgMax", {x, Tensor::scalar<int32_t>(1)});
      for (const int64_t at : found.flat<int64_t>()) CHECK(at == best);
      const Tensor turned = run("Transpose", {x, Tensor::vector<int32_t>({1, 0})});
      CHECK(run("ArgMax", {turned, Tensor::scalar<int32_t>(0)}) == found);
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::vector<float>({nan, 1, 2}), y = Tensor::vector<float>({1, nan, 2});
  CHECK(run("ArgMax", {x, Tensor::scalar<int32_t>(0)}) == Tensor::scalar<int64_t>(0));
  CHECK(run("ArgMax", {y, Tensor::scalar<int32_t>(0)}) == Tensor::scalar<int64_t>(2));
}

TEST_CASE("rows of every length become probabilities that add up to 1") {
  for (const int64_t length : {1, 2, 15, 16, 31, 33, 100}) {
    const Tensor made = run("Softmax", {varied({4, length}, 5)});
    const Tensor logs = run("LogSoftmax", {varied({4, length}, 5)});
    for (int64_t row = 0; row < 4; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<size_t>(row * length + i);
        sum += static_cast<double>(made.flat<float>()[at]);
        CHECK(std::log(made.flat<float>()[at]) ==
              doctest::Approx(logs.flat<float>()[at]).epsilon(1e-5));
      }
      CHECK(sum == doctest::Approx(1));
    }
  }
}

}  // namespace
}  // namespace millrace
