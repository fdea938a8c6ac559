// Kernels of two tensors that are walked through side by side, without broadcasting: gradients of
// functions of one tensor, from what arrives and what the function saw or made.
//
//   .cpu = cpu::paired<cpu::Floating>(cpu::Alike::shapes, [](auto dy, auto y) { … })
//
// The lambda sees float for the 16-bit floats and gives the input's type. The output has the shape
// of input 0 and takes over an input's buffer when it can. Loops are compiled, chosen and shared as
// those of elementwise.h.
#pragma once

#include "absl/functional/function_ref.h"

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/vector_math.h"

namespace millrace::cpu {

// What both tensors must have in common.
enum class Alike { shapes, sizes };

// `out` may be `a` or `b`.
using PairLoop = void (*)(const void* a, const void* b, void* out, int64_t n);
using PairPiece = absl::FunctionRef<void(const void* a, const void* b, void* out, int64_t n)>;

// INVALID_ARGUMENT, in TensorFlow's words, if inputs 0 and 1 are not alike.
Status check_alike(const KernelContext& context, std::string_view op, Alike alike);
// Output 0: piece after piece of inputs 0 and 1, which have been checked and are of its type.
Result<Tensor> run_paired(KernelContext& context, PairPiece piece);

// `loop` may be null: the result is then no_loop's error.
Result<std::unique_ptr<Kernel>> make_paired(const KernelSpec& spec, Alike alike, PairLoop loop);

namespace internal_paired {

template <class T, class F>
MR_BODY void body(const void* a, const void* b, void* out, int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) z[i] = static_cast<T>(F()(x[i], y[i]));
}
template <class T, class F>
void loop(const void* a, const void* b, void* out, int64_t n) {
  body<T, F>(a, b, out, n);
}
template <class T, class F>
MR_AVX2 void loop_avx2(const void* a, const void* b, void* out, int64_t n) {
  body<T, F>(a, b, out, n);
}
template <class T, VectorPair kPair>
void loop_of_vectors(const void* a, const void* b, void* out, int64_t n) {
  vector_loop(kPair, dtype_of<T>)(a, 1, b, 1, out, n);
}

template <class T, class F, VectorPair kPair>
PairLoop loop_of();

// Through floats, a run after the other.
template <class T, class F, VectorPair kPair>
void narrow_loop(const void* a, const void* b, void* out, int64_t n) {
  const PairLoop loop = loop_of<float, F, kPair>();
  in_narrow_runs(n, [&](int64_t begin, int64_t count) {
    float x[kNarrowRun], y[kNarrowRun];
    widen(static_cast<const T*>(a) + begin, x, count);
    widen(static_cast<const T*>(b) + begin, y, count);
    loop(x, y, x, count);
    narrow(x, static_cast<T*>(out) + begin, count);
  });
}

template <class T, class F, VectorPair kPair>
PairLoop loop_of() {
  if constexpr (kIsNarrowFloat<T>) {
    return &narrow_loop<T, F, kPair>;
  } else if constexpr (kPair != VectorPair::none) {
    return vector_loop(kPair, dtype_of<T>) ? &loop_of_vectors<T, kPair> : &loop<T, F>;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return widest<PairLoop>(&loop<T, F>, &loop_avx2<T, F>);
  } else {
    return &loop<T, F>;
  }
}

}  // namespace internal_paired

template <class TypeList, VectorPair kPair = VectorPair::none, class F>
KernelFactory paired(Alike alike, F) {
  return [alike](const KernelSpec& spec) {
    return make_paired(spec, alike,
                       pick<PairLoop>(TypeList(), spec.inputs[0].dtype, []<class T>() -> PairLoop {
                         return internal_paired::loop_of<T, F, kPair>();
                       }));
  };
}

}  // namespace millrace::cpu
