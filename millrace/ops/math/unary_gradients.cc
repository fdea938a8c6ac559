// Part of gradients.h: of functions of one tensor, element by element.
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// What arrives, times `slope`. Of a function of complex numbers it is the slope's conjugate.
Status scaled_by(GradContext& g, Endpoint slope) {
  g.set_input_grad(0, g.add("Mul", {g.grad(), conjugate(g, slope)}));
  return {};
}

Endpoint one(GradContext& g) { return g.scalar(g.dtype(g.input(0)), 1); }

// What arrives where `passes`, and 0 elsewhere.
Status passing_where(GradContext& g, Endpoint passes) {
  const Endpoint arriving = g.grad();
  g.set_input_grad(0, g.add("Select", {passes, arriving, g.add("ZerosLike", {arriving})}));
  return {};
}

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
Status reciprocal(GradContext& g) {
  return scaled_by(g, g.add("Neg", {g.add("Square", {g.output(0)})}));
}
Status sqrt(GradContext& g) {
  const Endpoint half = g.scalar(g.dtype(g.input(0)), 0.5);
  return scaled_by(g, g.add("RealDiv", {half, g.output(0)}));
}
// -1/2 y^3
Status rsqrt(GradContext& g) {
  const Endpoint half = g.scalar(g.dtype(g.input(0)), -0.5);
  const Endpoint cube = g.add("Mul", {g.add("Square", {g.output(0)}), g.output(0)});
  return scaled_by(g, g.add("Mul", {half, cube}));
}
Status exp(GradContext& g) { return scaled_by(g, g.output(0)); }
Status expm1(GradContext& g) { return scaled_by(g, g.add("Exp", {g.input(0)})); }
Status log(GradContext& g) { return scaled_by(g, g.add("Reciprocal", {g.input(0)})); }
Status log1p(GradContext& g) {
  return scaled_by(g, g.add("Reciprocal", {g.add("AddV2", {one(g), g.input(0)})}));
}
Status tanh(GradContext& g) {
  return scaled_by(g, g.add("Sub", {one(g), g.add("Square", {g.output(0)})}));
}
Status sigmoid(GradContext& g) {
  return scaled_by(g, g.add("Mul", {g.output(0), g.add("Sub", {one(g), g.output(0)})}));
}
Status sin(GradContext& g) { return scaled_by(g, g.add("Cos", {g.input(0)})); }
Status cos(GradContext& g) { return scaled_by(g, g.add("Neg", {g.add("Sin", {g.input(0)})})); }
Status tan(GradContext& g) {
  const Endpoint secant = g.add("Reciprocal", {g.add("Cos", {g.input(0)})});
  return scaled_by(g, g.add("Square", {secant}));
}

Status relu(GradContext& g) {
  const Endpoint zero = g.scalar(g.dtype(g.input(0)), 0);
  return passing_where(g, g.add("Greater", {g.output(0), zero}));
}
// At both ends, where it bends, nothing passes.
Status relu6(GradContext& g) {
  const DType dtype = g.dtype(g.input(0));
  const Endpoint is_positive = g.add("Greater", {g.input(0), g.scalar(dtype, 0)});
  const Endpoint is_below = g.add("Less", {g.input(0), g.scalar(dtype, 6)});
  return passing_where(g, g.add("LogicalAnd", {is_positive, is_below}));
}
Status softplus(GradContext& g) { return scaled_by(g, g.add("Sigmoid", {g.input(0)})); }

Status cast(GradContext& g) {
  const DType from = g.dtype(g.input(0)), to = g.dtype(g.output(0));
  if (!is_floating(to) && !is_complex(to)) return {};
  g.set_input_grad(0, g.add("Cast", {g.grad()}, {{"DstT", from}}));
  return {};
}

}  // namespace millrace::grad
