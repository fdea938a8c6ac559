// Part of gradients.h: of activations, and of their gradients.
#include "millrace/ops/nn/gradients.h"

namespace millrace::grad {
namespace {

// By the op that makes it from what arrives and what the activation gave.
Status from_output(GradContext& g, std::string_view op) {
  g.set_input_grad(0, g.add(op, {g.grad(), g.output(0)}));
  return {};
}

// z = dy * slope(x) as an op of (dy, x): by dy it is the same op of what arrives.
Endpoint by_arriving(GradContext& g, Attrs attrs = {}) {
  return g.add(g.attrs().op().name, {g.grad(), g.input(1)}, std::move(attrs));
}

// The slope is constant but where it jumps.
void set_flat(GradContext& g, int slot) {
  if (g.is_needed(slot)) g.set_input_grad(slot, g.add("ZerosLike", {g.input(slot)}));
}

// The slope is y and a constant where y is negative, and constant elsewhere.
Status bent_below_zero(GradContext& g) {
  if (g.is_needed(0)) g.set_input_grad(0, by_arriving(g));
  if (!g.is_needed(1)) return {};
  const Endpoint y = g.input(1);
  const Endpoint product = g.add("Mul", {g.grad(), g.input(0)});
  const Endpoint is_below = g.add("Less", {y, g.scalar(g.dtype(y), 0)});
  g.set_input_grad(1, g.add("Select", {is_below, product, g.add("ZerosLike", {product})}));
  return {};
}

}  // namespace

Status elu(GradContext& g) { return from_output(g, "EluGrad"); }
Status selu(GradContext& g) { return from_output(g, "SeluGrad"); }
Status softsign(GradContext& g) {
  g.set_input_grad(0, g.add("SoftsignGrad", {g.grad(), g.input(0)}));
  return {};
}
Status leaky_relu(GradContext& g) {
  MR_ASSIGN(const float alpha, g.attrs().real("alpha"));
  g.set_input_grad(0, g.add("LeakyReluGrad", {g.grad(), g.input(0)}, {{"alpha", alpha}}));
  return {};
}

Status stepped(GradContext& g) {
  if (g.is_needed(0)) g.set_input_grad(0, by_arriving(g));
  set_flat(g, 1);
  return {};
}
Status leaky_relu_grad(GradContext& g) {
  MR_ASSIGN(const float alpha, g.attrs().real("alpha"));
  if (g.is_needed(0)) g.set_input_grad(0, by_arriving(g, {{"alpha", alpha}}));
  set_flat(g, 1);
  return {};
}
Status elu_grad(GradContext& g) { return bent_below_zero(g); }
Status selu_grad(GradContext& g) { return bent_below_zero(g); }

// The slope of 1 / (exp(-x) + 1) is 1 / (exp(-x) + 2 + exp(x)).
Status softplus_grad(GradContext& g) {
  if (g.is_needed(0)) g.set_input_grad(0, by_arriving(g));
  if (!g.is_needed(1)) return {};
  const Endpoint x = g.input(1);
  const Endpoint falling = g.add("Exp", {g.add("Neg", {x})});
  const Endpoint below =
      g.add("AddV2", {g.add("AddV2", {falling, g.scalar(g.dtype(x), 2)}), g.add("Exp", {x})});
  g.set_input_grad(1, g.add("RealDiv", {g.add("Mul", {g.grad(), g.input(0)}), below}));
  return {};
}

// The slope of 1 / (1 + |x|)^2 is -2 sign(x) / (1 + |x|)^3.
Status softsign_grad(GradContext& g) {
  if (g.is_needed(0)) g.set_input_grad(0, by_arriving(g));
  if (!g.is_needed(1)) return {};
  const Endpoint x = g.input(1);
  const DType dtype = g.dtype(x);
  const Endpoint size = g.add("AddV2", {g.scalar(dtype, 1), g.add("Abs", {x})});
  const Endpoint twice = g.add("Mul", {g.scalar(dtype, -2), g.add("Sign", {x})});
  const Endpoint slope = g.add("RealDiv", {twice, g.add("Mul", {g.add("Square", {size}), size})});
  g.set_input_grad(1, g.add("Mul", {g.add("Mul", {g.grad(), g.input(0)}), slope}));
  return {};
}

}  // namespace millrace::grad
