// Part of families.h: register_unary_gradients.
#include "millrace/op/infer.h"
#include "millrace/ops/loops/paired.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using FloatingOrComplexGradient = cpu::Join<cpu::Floating, cpu::Complex>;

// Gradients of complex functions go by the conjugate of what the function gave. As in TensorFlow,
// those of Tanh and Sigmoid are given it, the others make it.
template <class T>
T conjugate_of(T y) {
  if constexpr (cpu::kIsComplex<T>) {
    return std::conj(y);
  } else {
    return y;
  }
}

// z(y, dy), where y is what the function gave and dy the gradient that arrives.
template <class F>
Status add_gradient(OpRegistry& ops, std::string name, GradFn second, std::string doc, F f,
                    std::string example) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = "y: T, dy: T -> z: T | T: {bfloat16, half, float, double, "
                               "complex64, complex128}",
                  .infer = infer::same_as_input,
                  .cpu = cpu::paired<FloatingOrComplexGradient>(cpu::Alike::sizes, f),
                  .grad = second,
                  .examples = {std::move(example)}});
}

}  // namespace

Status register_unary_gradients(OpRegistry& ops) {
  MR_TRY(add_gradient(
      ops, "TanhGrad", grad::tanh_grad, "The gradient of Tanh from its output: dy * (1 - y * y).",
      [](auto y, auto dy) { return dy * (decltype(y)(1) - y * y); }, "[0.5 2], [4 1] -> [3 -3]"));
  MR_TRY(add_gradient(
      ops, "SigmoidGrad", grad::sigmoid_grad,
      "The gradient of Sigmoid from its output: dy * y * (1 - y).",
      [](auto y, auto dy) { return dy * y * (decltype(y)(1) - y); }, "[0.5 2], [4 1] -> [1 -2]"));
  // No gradient that arrives is none that leaves, also where y is 0.
  MR_TRY(add_gradient(
      ops, "SqrtGrad", grad::sqrt_grad, "The gradient of Sqrt from its output: dy * 0.5 / y.",
      [](auto y, auto dy) {
        using T = decltype(y);
        return cpu::choose(dy == T(0), T(0), T(0.5f) * dy / conjugate_of(y));
      },
      "[2 0], [4 0] -> [1 0]"));
  MR_TRY(add_gradient(
      ops, "RsqrtGrad", grad::rsqrt_grad, "The gradient of Rsqrt from its output: dy * -0.5 * y^3.",
      [](auto y, auto dy) {
        using T = decltype(y);
        const T c = conjugate_of(y);
        return cpu::choose(dy == T(0), T(0), T(-0.5f) * (dy * c) * (c * c));
      },
      "[2 inf], [1 0] -> [-4 0]"));
  for (const char* name : {"ReciprocalGrad", "InvGrad"}) {
    MR_TRY(add_gradient(
        ops, name, grad::reciprocal_grad,
        "The gradient of Reciprocal from its output: -dy * y * y.",
        [](auto y, auto dy) {
          using T = decltype(y);
          const T c = conjugate_of(y);
          return cpu::choose(dy == T(0), T(0), -c * dy * c);
        },
        "[2 inf], [3 0] -> [-12 0]"));
  }
  return {};
}

}  // namespace millrace
