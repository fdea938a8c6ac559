// Part of families.h: register_tolerant.
#include <algorithm>
#include <cmath>
#include <complex>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

Status mul_no_nan_gradient(GradContext& g) {
  BroadcastGradient shapes(g, g.input(0), g.input(1));
  if (g.is_needed(0)) g.set_input_grad(0, shapes.to_a(g.add("MulNoNan", {g.grad(), g.input(1)})));
  if (g.is_needed(1)) g.set_input_grad(1, shapes.to_b(g.add("MulNoNan", {g.input(0), g.grad()})));
  return {};
}

using NearLoop = Status (*)(const Tensor& x, const Tensor& y, float tolerance, Tensor& out,
                            CancelProbe probe);

template <class T>
Status near_loop(const Tensor& x, const Tensor& y, float tolerance, Tensor& out,
                 CancelProbe probe) {
  using M = cpu::Math<T>;
  const auto a = x.flat<T>(), b = y.flat<T>();
  const auto to = out.mutable_flat<bool>();
  for (size_t i = 0; i < a.size(); ++i) {
    const auto p = static_cast<M>(a[i]), q = static_cast<M>(b[i]);
    if constexpr (std::is_integral_v<M>) {
      // The distance of integers without overflow, and only then as a double: large neighbours
      // are the same double.
      const auto whole = [](M x) { return static_cast<uint64_t>(static_cast<int64_t>(x)); };
      const auto distance = static_cast<double>(whole(std::max(p, q)) - whole(std::min(p, q)));
      to[i] = distance < static_cast<double>(tolerance);
    } else {
      to[i] = std::abs(p - q) < tolerance;
    }
    if (!probe.go_on(1)) return probe.status();
  }
  return {};
}

Result<Tensor> approximate_equal(KernelContext& context, NearLoop loop, float tolerance) {
  const Tensor &x = context.input(0), &y = context.input(1);
  if (x.shape() != y.shape()) {
    return invalid("x and y must be of the same shape. x shape: ", x.shape().to_string(),
                   ". y shape: ", y.shape().to_string());
  }
  MR_ASSIGN(Tensor out, context.allocate(0, x.shape()));
  MR_TRY(loop(x, y, tolerance, out, CancelProbe(context)));
  return out;
}

Status infer_alike(InferContext& context) {
  auto shape = context.input(0).merge(context.input(1));
  if (shape.ok()) return context.set_output(0, std::move(shape));
  return invalid("x and y must be of the same shape. x shape: ", context.input(0).to_string(),
                 ". y shape: ", context.input(1).to_string());
}

}  // namespace

Status register_tolerant(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "MulNoNan",
      .doc = "x * y, and 0 where y is 0, even if x is infinite or no number.",
      .signature = "x: T, y: T -> z: T | T: {bfloat16, half, float, double, complex64, complex128}",
      .infer = infer::broadcast,
      .cpu = cpu::binary<cpu::Join<cpu::Floating, cpu::Complex>>(
          [](auto x, auto y) { return y == decltype(y)(0) ? decltype(x)(0) : x * y; }),
      .grad = mul_no_nan_gradient,
      .examples = {"[6 1], [3 0] -> [18 0]", "[2], [[3] [4]] -> [[6] [8]]"},
  }));
  return ops.add({
      .name = "ApproximateEqual",
      .doc = "True where x and y, of one shape, are less than tolerance apart.",
      .signature = "x: T, y: T -> z: bool | T: number, tolerance: float = 1e-05",
      .infer = infer_alike,
      .cpu = kernel_with(approximate_equal,
                         cpu::loop_of_input<cpu::Number>([]<class T>() { return &near_loop<T>; }),
                         real("tolerance")),
      .not_differentiable = "its result is true or false",
      .examples = {"[1 2], [1 4] -> [true false]",
                   "[1 2], [2 4] -> [true false] | tolerance = 1.5"},
  });
}

}  // namespace millrace
