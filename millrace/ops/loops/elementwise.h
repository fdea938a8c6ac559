// Kernels that work element by element: unary ones, and binary ones with NumPy's broadcasting.
//
//   .cpu = cpu::unary<cpu::Floating>([](auto x) { return std::exp(x); })
//   .cpu = cpu::binary<cpu::Number>([](auto x, auto y) { return x + y; })
//
// The lambda sees float for the 16-bit floats, which are widened and narrowed in runs. Returning
// bool makes a bool output, anything else the input's type. An output takes over an input's buffer
// when it can, and long outputs are computed in pieces by the threads of the step's pool.
//
// Each loop over numbers is compiled twice, for any x86-64 and for AVX2 (instructions.h). Where
// vector_math.h knows the function, its loop is used for floats and doubles:
//
//   .cpu = cpu::unary<cpu::Floating, VectorFunction::exp>([](auto x) { return std::exp(x); })
#pragma once

#include <string_view>

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/plain_powers.h"
#include "millrace/ops/loops/vector_math.h"

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
  int64_t cost = 1;  // of an element, in elementary steps
};

// What an element of a function of mathematics costs, in elementary steps.
inline constexpr int64_t kMathCost = 8;

// `loop` may be null: the result is then no_loop's error. `cost` is that of an element.
Result<std::unique_ptr<Kernel>> make_unary(const KernelSpec& spec, UnaryLoop loop,
                                           int64_t cost = 1);
Result<std::unique_ptr<Kernel>> make_binary(const KernelSpec& spec, BinaryLoop loop,
                                            BinaryOptions options = {});

// out[i] = op(a[i], b[i]) over broadcast shapes; `out` has the broadcast shape, and may be the one
// of both that has it. INVALID_ARGUMENT if an element had no result.
Status run_binary(KernelContext& context, BinaryLoop loop, const Tensor& a, const Tensor& b,
                  Tensor& out, const BinaryOptions& options = {});

namespace internal_elementwise {

// bool stays bool; a float that stands for a narrower type becomes it again.
template <class T, class R>
using Output = std::conditional_t<std::is_same_v<R, bool>, bool, T>;

template <class T, class F>
MR_BODY void unary_body(const void* in, void* out, int64_t n) {
  using Y = Output<T, decltype(F()(Math<T>()))>;
  const T* x = static_cast<const T*>(in);
  Y* y = static_cast<Y*>(out);
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<Y>(F()(static_cast<Math<T>>(x[i])));
}
template <class T, class F>
void unary_loop(const void* in, void* out, int64_t n) {
  unary_body<T, F>(in, out, n);
}
template <class T, class F>
MR_AVX2 void unary_loop_avx2(const void* in, void* out, int64_t n) {
  unary_body<T, F>(in, out, n);
}

template <class T, class F, VectorFunction kFunction>
UnaryLoop unary_loop_of();

// Through floats, a run after the other.
template <class T, class F, VectorFunction kFunction>
void narrow_unary_loop(const void* in, void* out, int64_t n) {
  using Y = Output<T, decltype(F()(float()))>;
  const UnaryLoop loop = unary_loop_of<float, F, kFunction>();
  in_narrow_runs(n, [&](int64_t begin, int64_t count) {
    float x[kNarrowRun];
    widen(static_cast<const T*>(in) + begin, x, count);
    if constexpr (std::is_same_v<Y, bool>) {
      loop(x, static_cast<bool*>(out) + begin, count);
    } else {
      loop(x, x, count);
      narrow(x, static_cast<T*>(out) + begin, count);
    }
  });
}

template <class T, class F, VectorFunction kFunction>
UnaryLoop unary_loop_of() {
  if constexpr (kIsNarrowFloat<T>) {
    return &narrow_unary_loop<T, F, kFunction>;
  } else if constexpr (kFunction != VectorFunction::none) {
    const UnaryLoop loop = vector_loop(kFunction, dtype_of<T>);
    return loop != nullptr ? loop : &unary_loop<T, F>;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return widest<UnaryLoop>(&unary_loop<T, F>, &unary_loop_avx2<T, F>);
  } else {
    return &unary_loop<T, F>;
  }
}

// An op that may fail takes a flag to set.
template <class T, class F>
inline constexpr bool kMayFail = std::is_invocable_v<F, T, T, bool&>;

// What F gives for two elements of type T.
template <class T, class F>
struct BinaryOutput {
  static auto made() {
    if constexpr (kMayFail<T, F>) {
      bool failed = false;
      return F()(T(), T(), failed);
    } else {
      return F()(T(), T());
    }
  }
  using type = decltype(made());
};

template <class T, class F>
MR_BODY bool binary_body(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
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

template <class T, class F>
bool binary_loop(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                 int64_t n) {
  return binary_body<T, F>(a, a_step, b, b_step, out, n);
}
template <class T, class F>
MR_AVX2 bool binary_loop_avx2(const void* a, int64_t a_step, const void* b, int64_t b_step,
                              void* out, int64_t n) {
  return binary_body<T, F>(a, a_step, b, b_step, out, n);
}
template <class T, VectorPair kPair>
bool vector_binary_loop(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                        int64_t n) {
  if constexpr (kPair == VectorPair::pow) {
    const T* x = static_cast<const T*>(a);
    const bool is_one_exponent = a_step == 1 && b_step == 0;
    if (is_one_exponent && plain_power(x, *static_cast<const T*>(b), static_cast<T*>(out), n)) {
      return true;
    }
  }
  vector_loop(kPair, dtype_of<T>)(a, a_step, b, b_step, out, n);
  return true;
}

template <class T, class F, VectorPair kPair>
BinaryLoop binary_loop_of();

// Through floats, a run after the other.
template <class T, class F, VectorPair kPair>
bool narrow_binary_loop(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                        int64_t n) {
  const BinaryLoop loop = binary_loop_of<float, F, kPair>();
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  const float one_x = static_cast<float>(*x), one_y = static_cast<float>(*y);
  bool has_results = true;
  in_narrow_runs(n, [&](int64_t begin, int64_t count) {
    float wide_x[kNarrowRun], wide_y[kNarrowRun];
    if (a_step != 0) widen(x + begin, wide_x, count);
    if (b_step != 0) widen(y + begin, wide_y, count);
    const auto run = [&](void* z) {
      has_results &= loop(a_step != 0 ? wide_x : &one_x, a_step, b_step != 0 ? wide_y : &one_y,
                          b_step, z, count);
    };
    using Z = typename BinaryOutput<float, F>::type;
    if constexpr (std::is_same_v<Z, bool>) {
      run(static_cast<bool*>(out) + begin);
    } else {
      run(wide_x);
      narrow(wide_x, static_cast<T*>(out) + begin, count);
    }
  });
  return has_results;
}

template <class T, class F, VectorPair kPair>
BinaryLoop binary_loop_of() {
  if constexpr (kIsNarrowFloat<T>) {
    return &narrow_binary_loop<T, F, kPair>;
  } else if constexpr (kPair != VectorPair::none && std::is_floating_point_v<T>) {
    const bool is_there = vector_loop(kPair, dtype_of<T>) != nullptr;
    return is_there ? &vector_binary_loop<T, kPair> : &binary_loop<T, F>;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return widest<BinaryLoop>(&binary_loop<T, F>, &binary_loop_avx2<T, F>);
  } else {
    return &binary_loop<T, F>;
  }
}

}  // namespace internal_elementwise

template <class TypeList, VectorFunction kFunction = VectorFunction::none, class F>
UnaryLoop unary_loop_for(DType dtype, F) {
  return pick<UnaryLoop>(TypeList(), dtype, []<class T>() -> UnaryLoop {
    return internal_elementwise::unary_loop_of<T, F, kFunction>();
  });
}

template <class TypeList, VectorPair kPair = VectorPair::none, class F>
BinaryLoop binary_loop_for(DType dtype, F) {
  return pick<BinaryLoop>(TypeList(), dtype, []<class T>() -> BinaryLoop {
    return internal_elementwise::binary_loop_of<T, F, kPair>();
  });
}

template <class TypeList, VectorFunction kFunction = VectorFunction::none, class F>
KernelFactory unary(F f, int64_t cost = kFunction == VectorFunction::none ? 1 : kMathCost) {
  return [f, cost](const KernelSpec& spec) {
    return make_unary(spec, unary_loop_for<TypeList, kFunction>(spec.inputs[0].dtype, f), cost);
  };
}

// With a loop that others use, too.
inline KernelFactory binary(BinaryLoop (*loop_for)(DType)) {
  return [loop_for](const KernelSpec& spec) {
    return make_binary(spec, loop_for(spec.inputs[0].dtype));
  };
}

template <class TypeList, VectorPair kPair = VectorPair::none, class F>
KernelFactory binary(F f, BinaryOptions options = {}) {
  return [f, options](const KernelSpec& spec) {
    return make_binary(spec, binary_loop_for<TypeList, kPair>(spec.inputs[0].dtype, f), options);
  };
}

}  // namespace millrace::cpu
