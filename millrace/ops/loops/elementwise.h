// Kernels that work element by element: unary ones, and binary ones with NumPy's broadcasting.
//
//   .cpu = cpu::unary<cpu::Floating>([](auto x) { return std::exp(x); })
//   .cpu = cpu::binary<cpu::Number>([](auto x, auto y) { return x + y; })
//
// The lambda sees float for the 16-bit floats. Returning bool makes a bool output, anything else
// the input's type. An output takes over an input's buffer when it can.
#pragma once

#include <string_view>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"

namespace millrace::cpu {

// `in` and `out` may be the same buffer.
using UnaryLoop = void (*)(const void* in, void* out, int64_t n);

// n elements; a step of 0 means one value for all, 1 an element each. `out` may be `a` or `b`.
// False if an element had no result (a division of integers by zero).
using BinaryLoop = bool (*)(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                            int64_t n);

// How a binary kernel treats shapes that don't broadcast.
enum class Mismatch { is_error, is_false, is_true };

struct BinaryOptions {
  std::string_view no_result = "no result";  // a literal; INVALID_ARGUMENT when the loop says false
  Mismatch mismatch = Mismatch::is_error;
};

// `loop` may be null: the result is then no_loop's error.
Result<std::unique_ptr<Kernel>> make_unary(const KernelSpec& spec, UnaryLoop loop);
Result<std::unique_ptr<Kernel>> make_binary(const KernelSpec& spec, BinaryLoop loop,
                                            BinaryOptions options = {});

// out[i] = op(a[i], b[i]) over broadcast shapes; `out` has the broadcast shape.
Status run_binary(BinaryLoop loop, const Tensor& a, const Tensor& b, Tensor& out,
                  std::string_view no_result, CancelProbe& probe);

namespace internal_elementwise {

// bool stays bool; a float that stands for a narrower type becomes it again.
template <class T, class R>
using Output = std::conditional_t<std::is_same_v<R, bool>, bool, T>;

template <class T, class F>
void unary_loop(const void* in, void* out, int64_t n) {
  using Y = Output<T, decltype(F()(Math<T>()))>;
  const T* x = static_cast<const T*>(in);
  Y* y = static_cast<Y*>(out);
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<Y>(F()(static_cast<Math<T>>(x[i])));
}

// An op that may fail takes a flag to set.
template <class T, class F>
inline constexpr bool kMayFail = std::is_invocable_v<F, T, T, bool&>;

template <class T, class F>
bool binary_loop(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                 int64_t n) {
  using M = Math<T>;
  bool failed = false;
  const auto op = [&](const T& x, const T& y) {
    if constexpr (kMayFail<M, F>) {
      return F()(static_cast<M>(x), static_cast<M>(y), failed);
    } else {
      return F()(static_cast<M>(x), static_cast<M>(y));
    }
  };
  using Z = Output<T, decltype(op(T(), T()))>;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  Z* z = static_cast<Z*>(out);
  if (a_step == 1 && b_step == 1) {
    MR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = static_cast<Z>(op(x[i], y[i]));
  } else if (a_step == 1) {
    const T one = *y;
    MR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = static_cast<Z>(op(x[i], one));
  } else {
    const T one = *x;
    MR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = static_cast<Z>(op(one, y[i * b_step]));
  }
  return !failed;
}

}  // namespace internal_elementwise

template <class TypeList, class F>
UnaryLoop unary_loop_for(DType dtype, F) {
  return pick<UnaryLoop>(TypeList(), dtype, []<class T>() -> UnaryLoop {
    return &internal_elementwise::unary_loop<T, F>;
  });
}

template <class TypeList, class F>
BinaryLoop binary_loop_for(DType dtype, F) {
  return pick<BinaryLoop>(TypeList(), dtype, []<class T>() -> BinaryLoop {
    return &internal_elementwise::binary_loop<T, F>;
  });
}

template <class TypeList, class F>
KernelFactory unary(F f) {
  return [f](const KernelSpec& spec) {
    return make_unary(spec, unary_loop_for<TypeList>(spec.inputs[0].dtype, f));
  };
}

// With a loop that others use, too.
inline KernelFactory binary(BinaryLoop (*loop_for)(DType)) {
  return [loop_for](const KernelSpec& spec) {
    return make_binary(spec, loop_for(spec.inputs[0].dtype));
  };
}

template <class TypeList, class F>
KernelFactory binary(F f, BinaryOptions options = {}) {
  return [f, options](const KernelSpec& spec) {
    return make_binary(spec, binary_loop_for<TypeList>(spec.inputs[0].dtype, f), options);
  };
}

}  // namespace millrace::cpu
