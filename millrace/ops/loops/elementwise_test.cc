// Loops over elements: the same values with wider instructions, through narrow floats, and shared.
#include "millrace/ops/loops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/op/infer.h"

namespace millrace::cpu {
namespace {

constexpr auto mixed = [](auto x, auto y) { return x * y + (x < y ? y : x) / y; };
constexpr auto is_less = [](auto x, auto y) { return x < y; };

std::vector<float> numbers(size_t n, float scale) {
  std::vector<float> made(n);
  for (size_t i = 0; i < n; ++i)
    made[i] = scale * (static_cast<float>((i * 2654435761u) % 1000) - 500.5f);
  if (n > 4) made[1] = INFINITY, made[2] = NAN, made[3] = -0.0f;
  return made;
}

TEST_CASE("wider instructions change no bit of plain arithmetic") {
  if (instructions() < Instructions::avx2) {
    MESSAGE("this processor has no AVX2: nothing to compare");
    return;
  }
  const std::vector<float> x = numbers(1001, 0.01f), y = numbers(1001, 3);
  std::vector<float> plain(x.size()), wide(x.size());
  using F = decltype(mixed);
  const auto n = static_cast<int64_t>(x.size());
  for (const auto& [x_step, y_step] : {std::pair{1, 1}, {1, 0}, {0, 1}}) {
    internal_elementwise::binary_loop<float, F>(x.data(), x_step, y.data(), y_step, plain.data(),
                                                n);
    internal_elementwise::binary_loop_avx2<float, F>(x.data(), x_step, y.data(), y_step,
                                                     wide.data(), n);
    for (size_t i = 0; i < x.size(); ++i)
      CHECK((plain[i] == wide[i] || (std::isnan(plain[i]) && std::isnan(wide[i]))));
  }
}

template <class T>
void check_narrow() {
  const std::vector<float> from = numbers(600, 0.01f);
  std::vector<T> x, y;
  for (const float v : from) x.push_back(T(v)), y.push_back(T(v * 2 - 1));
  std::vector<T> sums(x.size());
  const auto n = static_cast<int64_t>(x.size());
  const auto adds = [](auto a, auto b) { return a + b; };
  binary_loop_for<Types<T>>(dtype_of<T>, adds)(x.data(), 1, y.data(), 1, sums.data(), n);
  const std::unique_ptr<bool[]> less(new bool[x.size()]);
  binary_loop_for<Types<T>>(dtype_of<T>, is_less)(x.data(), 1, y.data(), 0, less.get(), n);
  for (size_t i = 0; i < x.size(); ++i) {
    const T wanted(static_cast<float>(x[i]) + static_cast<float>(y[i]));
    CHECK((sums[i].bits == wanted.bits || std::isnan(static_cast<float>(wanted))));
    CHECK(less[i] == (static_cast<float>(x[i]) < static_cast<float>(y[0])));
  }
}
TEST_CASE("narrow floats are computed as floats and rounded once") {
  check_narrow<Half>();
  check_narrow<BFloat16>();
}

struct SharedStep {
  Cancellation cancellation;
  StepContext step{.cancellation = &cancellation};
  KernelContext context{step, "node", {}, {}, {}};
};

TEST_CASE("threads that share a broadcast give what one thread gives") {
  SharedStep f;
  ThreadPool pool(4);
  const auto tensor = [](const Shape& shape, float scale) {
    Tensor made = *Tensor::allocate(DType::f32, shape);
    const std::vector<float> values = numbers(static_cast<size_t>(made.num_elements()), scale);
    std::ranges::copy(values, made.mutable_flat<float>().begin());
    return made;
  };
  const BinaryLoop loop = binary_loop_for<Types<float>>(DType::f32, mixed);
  const std::pair<Shape, Shape> shapes[] = {{{700, 700}, {700, 700}}, {{700, 700}, {700}},
                                            {{700, 1}, {700}},        {{3, 1, 700}, {1, 300, 1}},
                                            {{}, {640000}},           {{0, 7}, {7}}};
  for (const auto& [a_shape, b_shape] : shapes) {
    const Tensor a = tensor(a_shape, 0.01f), b = tensor(b_shape, 2);
    const Shape shape = *broadcast_shapes(a_shape, b_shape);
    Tensor alone = *Tensor::allocate(DType::f32, shape),
           shared = *Tensor::allocate(DType::f32, shape);
    f.step.pool = nullptr;
    CHECK(run_binary(f.context, loop, a, b, alone).ok());
    f.step.pool = &pool;
    // Dear enough for many pieces.
    CHECK(run_binary(f.context, loop, a, b, shared, {.cost = 100}).ok());
    CHECK(std::memcmp(alone.data(), shared.data(), alone.num_elements() * sizeof(float)) == 0);
  }
}

TEST_CASE("a short row meets every row of the other side, on either side") {
  SharedStep f;
  const BinaryLoop loop = binary_loop_for<Types<float>>(DType::f32, mixed);
  constexpr int64_t kRows = 1500;
  for (const int64_t columns : {1, 3, 16, 100, 256, 300}) {
    const std::vector<float> all = numbers(static_cast<size_t>(kRows * columns), 0.01f);
    const std::vector<float> row = numbers(static_cast<size_t>(columns), 2);
    std::vector<float> every;
    for (int64_t i = 0; i < kRows; ++i) every.insert(every.end(), row.begin(), row.end());
    const auto tensor = [&](const Shape& shape, const std::vector<float>& values) {
      return *Tensor::vector<float>(std::span<const float>(values)).reshaped(shape);
    };
    const Shape shape{kRows, columns};
    const Tensor many = tensor(shape, all), one = tensor({columns}, row), as = tensor(shape, every);
    const auto made = [&](const Tensor& a, const Tensor& b) {
      Tensor out = *Tensor::allocate(DType::f32, shape);
      CHECK(run_binary(f.context, loop, a, b, out).ok());
      return out;
    };
    const size_t bytes = all.size() * sizeof(float);
    CHECK(std::memcmp(made(many, one).data(), made(many, as).data(), bytes) == 0);
    CHECK(std::memcmp(made(one, many).data(), made(as, many).data(), bytes) == 0);
  }
}

TEST_CASE("rows without elements meet each other, on either side") {
  SharedStep f;
  const BinaryLoop loop = binary_loop_for<Types<float>>(DType::f32, mixed);
  const Tensor none = *Tensor::allocate(DType::f32, {0});
  for (const Shape& many : {Shape{4096, 1}, Shape{4096, 0}, Shape{0, 1}}) {
    const Tensor rows = *Tensor::allocate(DType::f32, many);
    Tensor out = *Tensor::allocate(DType::f32, {many[0], 0});
    CHECK(run_binary(f.context, loop, rows, none, out).ok());
    CHECK(run_binary(f.context, loop, none, rows, out).ok());
  }
}

TEST_CASE("an element without a result fails the whole, whoever computed it") {
  SharedStep f;
  ThreadPool pool(2);
  f.step.pool = &pool;
  const auto fails_at_seven = [](auto x, auto y, bool& failed) {
    failed |= x == 7;
    return x + y;
  };
  const BinaryLoop loop = binary_loop_for<Types<float>>(DType::f32, fails_at_seven);
  Tensor a = *Tensor::allocate(DType::f32, {100000}), out = *Tensor::allocate(DType::f32, {100000});
  for (float& x : a.mutable_flat<float>()) x = 1;
  CHECK(run_binary(f.context, loop, a, a, out, {.no_result = "seven", .cost = 100}).ok());
  a.mutable_flat<float>()[99999] = 7;
  const Status status = run_binary(f.context, loop, a, a, out, {.no_result = "seven", .cost = 100});
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message() == "seven");
}

}  // namespace
}  // namespace millrace::cpu
