// Part of families.h: register_clipping.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

Status check_bound(const PartialShape& bound, const PartialShape& t) {
  if (!bound.has_rank() || bound.rank() == 0 || bound.merge(t).ok()) return {};
  return invalid(
      "clip_value_min and clip_value_max must be either of the same shape as input, or "
      "a scalar. input shape: ",
      t.to_string(), ", bound shape: ", bound.to_string());
}

// The smaller of both, of complex numbers part by part.
cpu::BinaryLoop smaller_loop(DType dtype) {
  const cpu::BinaryLoop loop = minimum_loop(dtype);
  if (loop != nullptr) return loop;
  return cpu::binary_loop_for<cpu::Complex>(dtype, [](auto x, auto y) {
    return decltype(x)(y.real() < x.real() ? y.real() : x.real(),
                       y.imag() < x.imag() ? y.imag() : x.imag());
  });
}
cpu::BinaryLoop larger_loop(DType dtype) {
  const cpu::BinaryLoop loop = maximum_loop(dtype);
  if (loop != nullptr) return loop;
  return cpu::binary_loop_for<cpu::Complex>(dtype, [](auto x, auto y) {
    return decltype(x)(y.real() > x.real() ? y.real() : x.real(),
                       y.imag() > x.imag() ? y.imag() : x.imag());
  });
}

// max(min(t, high), low): of bounds that cross, the lower one holds.
Result<Tensor> clip(KernelContext& context, cpu::BinaryLoop smaller, cpu::BinaryLoop larger) {
  const Tensor& t = context.input(0);
  for (const int slot : {1, 2}) MR_TRY(check_bound(context.input(slot).shape(), t.shape()));
  MR_ASSIGN(Tensor made, context.allocate(0, t.shape()));
  MR_TRY(cpu::run_binary(context, smaller, t, context.input(2), made));
  const Tensor lowered = made;
  MR_TRY(cpu::run_binary(context, larger, lowered, context.input(1), made));
  return made;
}

Status infer_clip(InferContext& context) {
  for (const int slot : {1, 2}) MR_TRY(check_bound(context.input(slot), context.input(0)));
  return infer::same_as_input(context);
}

// --- Cross ---

using CrossLoop = void (*)(const void* a, const void* b, void* out, int64_t n);

// The products of n pairs of vectors of three.
template <class T>
void cross_loop(const void* a, const void* b, void* out, int64_t n) {
  using M = cpu::Math<T>;
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i, x += 3, y += 3, z += 3) {
    const auto part = [&](int p, int q) {
      const M first = cpu::multiply(static_cast<M>(x[p]), static_cast<M>(y[q]));
      const M second = cpu::multiply(static_cast<M>(x[q]), static_cast<M>(y[p]));
      return static_cast<T>(cpu::subtract(first, second));
    };
    z[0] = part(1, 2);
    z[1] = part(2, 0);
    z[2] = part(0, 1);
  }
}

Status check_vectors(const PartialShape& a, const PartialShape& b) {
  const auto merged = a.merge(b);
  if (!merged.ok()) {
    return invalid("Both inputs must be of same shape: ", a.to_string(), " vs. ", b.to_string());
  }
  if (!merged->has_rank()) return {};
  if (merged->rank() < 1) return invalid("Input must be at least 1D");
  const int64_t last = merged->dim(merged->rank() - 1);
  if (last == 3 || last == kUnknownDim) return {};
  return invalid("Cross-products are only defined for 3-element vectors, not of ", last);
}

Result<Tensor> cross(KernelContext& context, CrossLoop loop) {
  const Tensor &a = context.input(0), &b = context.input(1);
  MR_TRY(check_vectors(a.shape(), b.shape()));
  MR_ASSIGN(Tensor made, context.allocate(0, a.shape()));
  const auto size = 3 * static_cast<int64_t>(dtype_size(a.dtype()));
  MR_TRY(CancelProbe(context).in_pieces(a.num_elements() / 3, [&](int64_t begin, int64_t count) {
    const int64_t at = begin * size;
    loop(static_cast<const char*>(a.data()) + at, static_cast<const char*>(b.data()) + at,
         static_cast<char*>(made.mutable_data()) + at, count);
  }));
  return made;
}

Status infer_cross(InferContext& context) {
  MR_TRY(check_vectors(context.input(0), context.input(1)));
  return context.set_output(0, context.input(0).merge(context.input(1)));
}

}  // namespace

Status register_clipping(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ClipByValue",
      .doc = "t where it is between clip_value_min and clip_value_max, else the nearer of both; "
             "clip_value_min where that is the larger of both. Complex numbers part by part.",
      .signature = "t: T, clip_value_min: T, clip_value_max: T -> output: T | T: number",
      .infer = infer_clip,
      .cpu = kernel_with(clip, cpu::LoopFor{smaller_loop}, cpu::LoopFor{larger_loop}),
      .grad = grad::clip_by_value,
      .examples = {"[1 5 9], 2, 6 -> [2 5 6] | T = float",
                   "[1 5 9], [2 6 0], 7 -> [2 6 7] | "
                   "T = int32",
                   "[1 5 9], 7, [2 8 9] -> [7 7 9] | T = float"},
  }));
  return ops.add({
      .name = "Cross",
      .doc = "The cross products of vectors of three, along the last axis.",
      .signature = "a: T, b: T -> product: T | T: real",
      .infer = infer_cross,
      .cpu = kernel_with(cross,
                         cpu::loop_of_input<cpu::Real>([]<class T>() { return &cross_loop<T>; })),
      .grad = grad::cross,
      .examples = {"[1 0 0], [0 1 0] -> [0 0 1]", "[1 2 3], [1 0 2] -> [4 1 -2] | T = float"},
  });
}

}  // namespace millrace
