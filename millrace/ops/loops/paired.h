// Kernels of two tensors that are walked through side by side, without broadcasting: gradients of
// functions of one tensor, from what arrives and what the function saw or made.
//
//   .cpu = cpu::paired<cpu::Floating>(cpu::Alike::shapes, [](auto dy, auto y) { … })
//
// The lambda sees float for the 16-bit floats and gives the input's type. The output has the shape
// of input 0 and takes over an input's buffer when it can.
#pragma once

#include "absl/functional/function_ref.h"

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"

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
void loop(const void* a, const void* b, void* out, int64_t n) {
  using M = Math<T>;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    z[i] = static_cast<T>(F()(static_cast<M>(x[i]), static_cast<M>(y[i])));
}

}  // namespace internal_paired

template <class TypeList, class F>
KernelFactory paired(Alike alike, F) {
  return [alike](const KernelSpec& spec) {
    return make_paired(spec, alike,
                       pick<PairLoop>(TypeList(), spec.inputs[0].dtype, []<class T>() -> PairLoop {
                         return &internal_paired::loop<T, F>;
                       }));
  };
}

}  // namespace millrace::cpu
