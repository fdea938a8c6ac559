// Boxes copied between layouts: every element where it belongs, whichever way the axes lie, by one
// thread and by several.
#include "millrace/ops/loops/strided_copy.h"

#include <algorithm>
#include <complex>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/ops/loops/fill.h"

namespace millrace {
namespace {

struct CopyStep {
  Cancellation cancellation;
  StepContext step{.cancellation = &cancellation};
  KernelContext context{step, "node", {}, {}, {}};
};

template <class T>
Tensor counted(const Shape& shape) {
  Tensor made = *Tensor::allocate(dtype_of<T>, shape);
  T* x = static_cast<T*>(made.mutable_data());
  for (int64_t i = 0; i < made.num_elements(); ++i) x[i] = static_cast<T>(i % 251);
  return made;
}

// What `axes` of a tensor become when they are permuted, element by element.
template <class T>
void check_permuted(const Shape& shape, const std::vector<int>& axes, CopyStep& step) {
  const Tensor input = counted<T>(shape);
  const Strides own = row_major_strides(shape);
  std::vector<int64_t> dims;
  Strides from;
  for (const int axis : axes) {
    dims.push_back(shape.dim(axis));
    from.push_back(own[static_cast<size_t>(axis)]);
  }
  const Shape made_shape = *Shape::create(dims);
  const Tensor alone = *copied_box(made_shape, input, {0, from}, CancelProbe());
  const Tensor shared = *copied_box(made_shape, input, {0, from}, step.context);
  const T* x = static_cast<const T*>(input.data());
  const T* y = static_cast<const T*>(alone.data());
  const Strides to = row_major_strides(made_shape);
  int64_t wrong = 0;
  for (int64_t i = 0; i < alone.num_elements(); ++i) {
    int64_t rest = i, at = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      at += rest / to[axis] * from[axis];
      rest %= to[axis];
    }
    wrong += y[i] == x[at] ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(alone == shared);
}

TEST_CASE(
    "permuted axes: planes, short rows, sizes that fill no square, and elements of any size") {
  CopyStep step;
  ThreadPool pool(3);
  step.step.pool = &pool;
  check_permuted<float>({64, 48}, {1, 0}, step);
  check_permuted<float>({37, 29}, {1, 0}, step);
  check_permuted<float>({700, 611}, {1, 0}, step);
  check_permuted<uint8_t>({130, 67}, {1, 0}, step);
  check_permuted<double>({5, 33, 17}, {2, 0, 1}, step);
  check_permuted<std::complex<double>>({9, 11, 3}, {1, 2, 0}, step);
  check_permuted<float>({4, 30, 7, 8}, {0, 2, 1, 3}, step);
  check_permuted<int16_t>({3, 20, 21, 5}, {0, 3, 1, 2}, step);
  check_permuted<int16_t>({3, 20, 21, 5}, {3, 2, 1, 0}, step);
  check_permuted<float>({1, 40, 1, 40}, {3, 2, 1, 0}, step);
  check_permuted<float>({0, 40}, {1, 0}, step);
}

TEST_CASE("rows that end in the middle of a word are copied to their last byte and no further") {
  CopyStep step;
  for (const int64_t width : {1, 3, 7, 17, 30, 63, 255}) {
    const Tensor narrow = counted<uint8_t>({10, width});
    Tensor wide = *Tensor::zeros(DType::u8, {10, width + 5});
    const std::array<int64_t, 2> dims = {10, width}, from = {width, 1}, to = {width + 5, 1};
    CHECK(copy_box(dims, narrow, {0, from}, wide, {2, to}, step.context).ok());
    const auto x = narrow.flat<uint8_t>(), y = wide.flat<uint8_t>();
    int64_t wrong = 0;
    for (int64_t row = 0; row < 10; ++row) {
      for (int64_t i = 0; i < width + 5; ++i) {
        const bool is_inside = i >= 2 && i < width + 2;
        const int wanted = is_inside ? x[static_cast<size_t>(row * width + i - 2)] : 0;
        wrong += y[static_cast<size_t>(row * (width + 5) + i)] == wanted ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void check_filled(const T& value) {
  for (const int64_t count : {0, 1, 31, 32, 33, 100, 8191, 8192, 8193, 40000}) {
    std::vector<T> made(static_cast<size_t>(count) + 1);
    cpu::fill_elements(made.data(), count, value);
    CHECK(std::count(made.begin(), made.end(), value) == count);
    CHECK(made.back() == T());
  }
}

TEST_CASE("a value fills as many elements as it is asked to, of any size") {
  check_filled<uint8_t>(3);
  check_filled<float>(1.5f);
  check_filled<std::complex<double>>({1, 2});
  check_filled<std::string>("long enough to have a place of its own");
}

TEST_CASE("a copy that nobody wants any more ends") {
  CopyStep step;
  const Tensor input = counted<float>({1000, 1000});
  step.cancellation.cancel(aborted("no more"));
  const Strides from = {1, 1000};
  const auto made = copied_box({1000, 1000}, input, {0, from}, step.context);
  CHECK(made.status().code() == Code::cancelled);
}

}  // namespace
}  // namespace millrace
