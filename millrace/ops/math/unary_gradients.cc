// Part of gradients.h: of functions of one tensor, element by element.
#include <numbers>

#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// What arrives, times `slope`. Of a function of complex numbers it is the slope's conjugate.
Status scaled_by(GradContext& g, Endpoint slope) {
  g.set_input_grad(0, g.add("Mul", {g.grad(), conjugate(g, slope)}));
  return {};
}

Endpoint one(GradContext& g) { return g.scalar(g.dtype(g.input(0)), 1); }

// height exp(-x^2)
Endpoint bell(GradContext& g, double height) {
  const Endpoint falling = g.add("Exp", {g.add("Neg", {g.add("Square", {g.input(0)})})});
  return g.add("Mul", {g.scalar(g.dtype(g.input(0)), height), falling});
}

// By the op that makes it from what the function gave and what arrives.
Status fused(GradContext& g, std::string_view op) {
  g.set_input_grad(0, g.add(op, {g.output(0), g.grad()}));
  return {};
}

// The same by an op that is to be given the conjugate of what a complex function gave.
Status fused_by_conjugate(GradContext& g, std::string_view op) {
  g.set_input_grad(0, g.add(op, {conjugate(g, g.output(0)), g.grad()}));
  return {};
}

// The same of activations, whose gradient ops have their inputs the other way round.
Status from_output(GradContext& g, std::string_view op) {
  g.set_input_grad(0, g.add(op, {g.grad(), g.output(0)}));
  return {};
}

// What the gradients of fused gradients are made of: z(y, dy), each side where it is needed.
struct Fused {
  GradContext& g;
  Endpoint y, dy, arriving;

  Endpoint times(double factor, Endpoint x) const {
    return g.add("Mul", {g.scalar(g.dtype(x), factor), x});
  }
  Endpoint product(Endpoint a, Endpoint b) const { return g.add("Mul", {a, b}); }
  // It is the same op by what arrived at the function.
  void set_by_arriving() const {
    if (g.is_needed(1)) g.set_input_grad(1, g.add(g.attrs().op().name, {y, arriving}));
  }
};

}  // namespace

Endpoint conjugate(GradContext& g, Endpoint x) {
  return is_complex(g.dtype(x)) ? g.add("Conj", {x}) : x;
}

Status neg(GradContext& g) {
  g.set_input_grad(0, g.add("Neg", {g.grad()}));
  return {};
}
Status abs(GradContext& g) { return scaled_by(g, g.add("Sign", {g.input(0)})); }
Status sign(GradContext& g) {
  g.set_input_grad(0, g.add("ZerosLike", {g.input(0)}));
  return {};
}
Status square(GradContext& g) {
  const Endpoint two = g.scalar(g.dtype(g.input(0)), 2);
  return scaled_by(g, g.add("Mul", {g.input(0), two}));
}
Status reciprocal(GradContext& g) { return fused(g, "ReciprocalGrad"); }
Status sqrt(GradContext& g) { return fused(g, "SqrtGrad"); }
Status rsqrt(GradContext& g) { return fused(g, "RsqrtGrad"); }
Status exp(GradContext& g) { return scaled_by(g, g.output(0)); }
Status expm1(GradContext& g) { return scaled_by(g, g.add("Exp", {g.input(0)})); }
Status log(GradContext& g) { return scaled_by(g, g.add("Reciprocal", {g.input(0)})); }
Status log1p(GradContext& g) {
  return scaled_by(g, g.add("Reciprocal", {g.add("AddV2", {one(g), g.input(0)})}));
}
Status erf(GradContext& g) { return scaled_by(g, bell(g, 2 * std::numbers::inv_sqrtpi)); }
Status erfc(GradContext& g) { return scaled_by(g, bell(g, -2 * std::numbers::inv_sqrtpi)); }
Status lgamma(GradContext& g) { return scaled_by(g, g.add("Digamma", {g.input(0)})); }
Status tanh(GradContext& g) { return fused_by_conjugate(g, "TanhGrad"); }
Status sigmoid(GradContext& g) { return fused_by_conjugate(g, "SigmoidGrad"); }

// dy (1 - y^2), by y: -2 y dy.
Status tanh_grad(GradContext& g) {
  const Fused of{g, conjugate(g, g.input(0)), conjugate(g, g.input(1)), g.grad()};
  if (g.is_needed(0))
    g.set_input_grad(0, of.product(of.times(-2, of.product(of.arriving, of.dy)), of.y));
  of.set_by_arriving();
  return {};
}
// dy y (1 - y), by y: dy (1 - 2 y).
Status sigmoid_grad(GradContext& g) {
  const Fused of{g, conjugate(g, g.input(0)), conjugate(g, g.input(1)), g.grad()};
  if (g.is_needed(0)) {
    const Endpoint both = of.product(of.arriving, of.dy);
    g.set_input_grad(0, g.add("Sub", {both, of.product(of.times(2, both), of.y)}));
  }
  of.set_by_arriving();
  return {};
}
// The others keep the promise that where nothing arrives nothing leaves, infinite y or none: their
// products are made by the fused ops, which keep it.
//
// z = dy / 2y, by y: -z / y.
Status sqrt_grad(GradContext& g) {
  const Fused of{g, conjugate(g, g.input(0)), g.input(1), g.grad()};
  if (g.is_needed(0)) {
    const Endpoint both = of.product(conjugate(g, of.arriving), g.output(0));
    g.set_input_grad(0, of.times(-2, g.add("SqrtGrad", {g.input(0), both})));
  }
  of.set_by_arriving();
  return {};
}
// -1/2 dy y^3, by y: -3/2 dy y^2.
Status rsqrt_grad(GradContext& g) {
  const Fused of{g, conjugate(g, g.input(0)), g.input(1), g.grad()};
  if (g.is_needed(0)) {
    const Endpoint both = of.product(conjugate(g, of.arriving), of.dy);
    g.set_input_grad(0, of.times(1.5, g.add("ReciprocalGrad", {g.input(0), both})));
  }
  of.set_by_arriving();
  return {};
}
// -dy y^2, by y: -2 dy y.
Status reciprocal_grad(GradContext& g) {
  const Fused of{g, conjugate(g, g.input(0)), g.input(1), g.grad()};
  if (g.is_needed(0)) {
    const Endpoint both = of.product(of.times(-2, conjugate(g, of.arriving)), of.dy);
    const Endpoint arrives = g.add("NotEqual", {both, g.scalar(g.dtype(both), 0)});
    g.set_input_grad(
        0, g.add("Select", {arrives, of.product(both, of.y), g.add("ZerosLike", {both})}));
  }
  of.set_by_arriving();
  return {};
}

Status sin(GradContext& g) { return scaled_by(g, g.add("Cos", {g.input(0)})); }
Status cos(GradContext& g) { return scaled_by(g, g.add("Neg", {g.add("Sin", {g.input(0)})})); }
Status tan(GradContext& g) {
  const Endpoint secant = g.add("Reciprocal", {g.add("Cos", {g.input(0)})});
  return scaled_by(g, g.add("Square", {secant}));
}

Status relu(GradContext& g) { return from_output(g, "ReluGrad"); }
// At both ends, where it bends, nothing passes.
Status relu6(GradContext& g) { return from_output(g, "Relu6Grad"); }
Status softplus(GradContext& g) { return scaled_by(g, g.add("Sigmoid", {g.input(0)})); }

Status cast(GradContext& g) {
  const DType from = g.dtype(g.input(0)), to = g.dtype(g.output(0));
  if (!is_floating(to) && !is_complex(to)) return {};
  g.set_input_grad(0, g.add("Cast", {g.grad()}, {{"DstT", from}}));
  return {};
}

}  // namespace millrace::grad
