// Part of gradients.h: of the functions of trigonometry.cc, special.cc, gammas.cc and bessels.cc,
// of complex numbers, and of clipping.
#include <cmath>
#include <numbers>

#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// Formulas as they read: nodes with arithmetic.
struct Term {
  GradContext* g = nullptr;
  Endpoint at;

  Term apply(std::string_view op) const { return {g, g->add(op, {at})}; }
};
Term operator+(Term a, Term b) { return {a.g, a.g->add("AddV2", {a.at, b.at})}; }
Term operator-(Term a, Term b) { return {a.g, a.g->add("Sub", {a.at, b.at})}; }
Term operator*(Term a, Term b) { return {a.g, a.g->add("Mul", {a.at, b.at})}; }
Term operator/(Term a, Term b) { return {a.g, a.g->add("RealDiv", {a.at, b.at})}; }
Term operator-(Term a) { return a.apply("Neg"); }

Term input_term(GradContext& g, int slot = 0) { return {&g, g.input(slot)}; }
Term output_term(GradContext& g) { return {&g, g.output(0)}; }
Term number(GradContext& g, double value) { return {&g, g.scalar(g.dtype(g.input(0)), value)}; }

Term select(Term condition, Term yes, Term no) {
  return {yes.g, yes.g->add("SelectV2", {condition.at, yes.at, no.at})};
}
Term is_zero(Term x) { return {x.g, x.g->add("Equal", {x.at, x.g->scalar(x.g->dtype(x.at), 0)})}; }

// What arrives, times the slope; of complex numbers the slope's conjugate.
Status by_slope(GradContext& g, Term slope) {
  g.set_input_grad(0, g.add("Mul", {g.grad(), conjugate(g, slope.at)}));
  return {};
}

// The gradient by one of two operands that broadcast. Slopes of complex numbers are taken as they
// are, as TensorFlow does in this family.
Status by(GradContext& g, int slot, Term slope) {
  BroadcastGradient shapes(g, g.input(0), g.input(1));
  const Endpoint whole = g.add("Mul", {g.grad(), slope.at});
  g.set_input_grad(slot, slot == 0 ? shapes.to_a(whole) : shapes.to_b(whole));
  return {};
}

Term one_minus_square(GradContext& g) { return number(g, 1) - input_term(g).apply("Square"); }

}  // namespace

Status asin(GradContext& g) { return by_slope(g, one_minus_square(g).apply("Rsqrt")); }
Status acos(GradContext& g) { return by_slope(g, -one_minus_square(g).apply("Rsqrt")); }
Status atan(GradContext& g) {
  return by_slope(g, (number(g, 1) + input_term(g).apply("Square")).apply("Reciprocal"));
}
Status sinh(GradContext& g) { return by_slope(g, input_term(g).apply("Cosh")); }
Status cosh(GradContext& g) { return by_slope(g, input_term(g).apply("Sinh")); }
Status asinh(GradContext& g) {
  return by_slope(g, output_term(g).apply("Cosh").apply("Reciprocal"));
}
Status acosh(GradContext& g) {
  return by_slope(g, output_term(g).apply("Sinh").apply("Reciprocal"));
}
Status atanh(GradContext& g) { return by_slope(g, one_minus_square(g).apply("Reciprocal")); }

Status digamma(GradContext& g) {
  const Endpoint one = g.scalar(g.dtype(g.input(0)), 1);
  return by_slope(g, {&g, g.add("Polygamma", {one, g.input(0)})});
}
Status erfinv(GradContext& g) {
  const Term slope = output_term(g).apply("Square").apply("Exp");
  return by_slope(g, number(g, std::sqrt(std::numbers::pi) / 2) * slope);
}
Status ndtri(GradContext& g) {
  const Term half = output_term(g).apply("Square") * number(g, 0.5);
  return by_slope(g, number(g, std::sqrt(2 * std::numbers::pi)) * half.apply("Exp"));
}

// x / y and its kin: 0 where x is.
Status xdivy(GradContext& g) {
  const Term x = input_term(g), y = input_term(g, 1);
  const Term there = is_zero(x);
  if (g.is_needed(0)) MR_TRY(by(g, 0, select(there, number(g, 0), number(g, 1) / y)));
  if (!g.is_needed(1)) return {};
  return by(g, 1, {&g, g.add("Xdivy", {(-x).at, y.apply("Square").at})});
}
Status xlogy(GradContext& g) {
  const Term x = input_term(g), y = input_term(g, 1);
  if (g.is_needed(0)) {
    const Term one = select(is_zero(x), number(g, 0), number(g, 1));
    MR_TRY(by(g, 0, {&g, g.add("Xlogy", {one.at, y.at})}));
  }
  if (!g.is_needed(1)) return {};
  return by(g, 1, {&g, g.add("Xdivy", {x.at, y.at})});
}
Status xlog1py(GradContext& g) {
  const Term x = input_term(g), y = input_term(g, 1);
  if (g.is_needed(0)) {
    const Term one = select(is_zero(x), number(g, 0), number(g, 1));
    MR_TRY(by(g, 0, {&g, g.add("Xlog1py", {one.at, y.at})}));
  }
  if (!g.is_needed(1)) return {};
  return by(g, 1, {&g, g.add("Xdivy", {x.at, (y + number(g, 1)).at})});
}

namespace {

// The density x^(a-1) exp(-x) / gamma(a).
Term gamma_density(GradContext& g) {
  const Term a = input_term(g), x = input_term(g, 1);
  return ((a - number(g, 1)) * x.apply("Log") - x - a.apply("Lgamma")).apply("Exp");
}

Status share_of_gamma(GradContext& g, bool lower) {
  if (g.is_needed(0) && (g.dtype(g.input(0)) == DType::f32 || g.dtype(g.input(0)) == DType::f64)) {
    const Term by_a = {&g, g.add("IgammaGradA", {g.input(0), g.input(1)})};
    MR_TRY(by(g, 0, lower ? by_a : -by_a));
  }
  if (!g.is_needed(1)) return {};
  return by(g, 1, lower ? gamma_density(g) : -gamma_density(g));
}

}  // namespace

Status igamma(GradContext& g) { return share_of_gamma(g, true); }
Status igammac(GradContext& g) { return share_of_gamma(g, false); }
Status zeta(GradContext& g) {
  const Term x = input_term(g);
  const Term next = {&g, g.add("Zeta", {(x + number(g, 1)).at, g.input(1)})};
  return g.is_needed(1) ? by(g, 1, -x * next) : Status();
}
Status polygamma(GradContext& g) {
  const Term next = input_term(g) + number(g, 1);
  return g.is_needed(1) ? by(g, 1, {&g, g.add("Polygamma", {next.at, g.input(1)})}) : Status();
}
// By x alone, as in TensorFlow.
Status betainc(GradContext& g) {
  if (!g.is_needed(2)) return {};
  const Term a = input_term(g), b = input_term(g, 1), x = input_term(g, 2);
  const Term one = number(g, 1);
  const Term log_beta = a.apply("Lgamma") + b.apply("Lgamma") - (a + b).apply("Lgamma");
  const Term left = {&g, g.add("Xlogy", {(a - one).at, x.at})};
  const Term right = {&g, g.add("Xlog1py", {(b - one).at, (-x).at})};
  const Endpoint whole = g.add("Mul", {g.grad(), (left + right - log_beta).apply("Exp").at});
  g.set_input_grad(2, BroadcastGradient(g, g.input(2), g.output(0)).to_a(whole));
  return {};
}

Status bessel_i0(GradContext& g) { return by_slope(g, input_term(g).apply("BesselI1")); }
Status bessel_i0e(GradContext& g) {
  const Term x = input_term(g);
  return by_slope(g, x.apply("BesselI1e") - x.apply("Sign") * output_term(g));
}
namespace {

// first - y / x, which is a half where x is 0.
Status lowered_by_quotient(GradContext& g, std::string_view first, bool keeps_zero) {
  const Term x = input_term(g);
  if (!keeps_zero) return by_slope(g, x.apply(first) - output_term(g) / x);
  const Term there = is_zero(x);
  const Term safe = select(there, number(g, 1), x);
  return by_slope(g, select(there, number(g, 0.5), x.apply(first) - output_term(g) / safe));
}

}  // namespace

Status bessel_i1(GradContext& g) { return lowered_by_quotient(g, "BesselI0", true); }
Status bessel_i1e(GradContext& g) {
  const Term x = input_term(g), there = is_zero(x);
  const Term safe = select(there, number(g, 1), x);
  const Term slope =
      x.apply("BesselI0e") - output_term(g) * (x.apply("Sign") + safe.apply("Reciprocal"));
  return by_slope(g, select(there, number(g, 0.5), slope));
}
Status bessel_j0(GradContext& g) { return by_slope(g, -input_term(g).apply("BesselJ1")); }
Status bessel_j1(GradContext& g) { return lowered_by_quotient(g, "BesselJ0", true); }
Status bessel_y0(GradContext& g) { return by_slope(g, -input_term(g).apply("BesselY1")); }
Status bessel_y1(GradContext& g) { return lowered_by_quotient(g, "BesselY0", false); }
Status bessel_k0(GradContext& g) { return by_slope(g, -input_term(g).apply("BesselK1")); }
Status bessel_k0e(GradContext& g) {
  return by_slope(g, output_term(g) - input_term(g).apply("BesselK1e"));
}
Status bessel_k1(GradContext& g) {
  const Term x = input_term(g);
  return by_slope(g, -x.apply("BesselK0") - output_term(g) / x);
}
Status bessel_k1e(GradContext& g) {
  const Term x = input_term(g);
  return by_slope(g,
                  output_term(g) * (number(g, 1) - x.apply("Reciprocal")) - x.apply("BesselK0e"));
}

namespace {

Endpoint as_complex(GradContext& g, Endpoint real, Endpoint imag, DType dtype) {
  return g.add("Complex", {real, imag}, {{"Tout", dtype}});
}
Endpoint part(GradContext& g, std::string_view op, Endpoint x) {
  const DType dtype = g.dtype(x) == DType::c128 ? DType::f64 : DType::f32;
  return g.add(op, {x}, {{"Tout", dtype}});
}
Endpoint no_part(GradContext& g) { return g.scalar(g.dtype(g.grad()), 0); }

}  // namespace

Status conj(GradContext& g) {
  g.set_input_grad(0, g.add("Conj", {g.grad()}));
  return {};
}
Status real(GradContext& g) {
  g.set_input_grad(0, as_complex(g, g.grad(), no_part(g), g.dtype(g.input(0))));
  return {};
}
Status imag(GradContext& g) {
  g.set_input_grad(0, as_complex(g, no_part(g), g.grad(), g.dtype(g.input(0))));
  return {};
}
Status angle(GradContext& g) {
  const DType dtype = g.dtype(g.input(0));
  const Endpoint turned =
      as_complex(g, part(g, "Imag", g.input(0)), part(g, "Real", g.input(0)), dtype);
  const Endpoint arriving = as_complex(g, g.grad(), no_part(g), dtype);
  const Endpoint slope = g.add("Reciprocal", {turned});
  g.set_input_grad(0, g.add("Neg", {g.add("Mul", {arriving, slope})}));
  return {};
}
Status complex_abs(GradContext& g) {
  const DType dtype = g.dtype(g.input(0));
  const Endpoint size =
      as_complex(g, g.add("DivNoNan", {g.grad(), g.output(0)}), no_part(g), dtype);
  g.set_input_grad(0, g.add("Mul", {size, g.input(0)}));
  return {};
}
Status complex(GradContext& g) {
  BroadcastGradient shapes(g, g.input(0), g.input(1));
  if (g.is_needed(0)) g.set_input_grad(0, shapes.to_a(part(g, "Real", g.grad())));
  if (g.is_needed(1)) g.set_input_grad(1, shapes.to_b(part(g, "Imag", g.grad())));
  return {};
}

// Where t is between the bounds it has what arrives, where it is not the bound has.
Status clip_by_value(GradContext& g) {
  const Endpoint t = g.input(0), arriving = g.grad();
  const Endpoint none = g.scalar(g.dtype(t), 0);
  const Endpoint below = g.add("Less", {t, g.input(1)});
  const Endpoint above = g.add("Greater", {t, g.input(2)});
  const Endpoint outside = g.add("LogicalOr", {below, above});
  if (g.is_needed(0)) g.set_input_grad(0, g.add("SelectV2", {outside, none, arriving}));
  for (const int slot : {1, 2}) {
    if (!g.is_needed(slot)) continue;
    const Endpoint there = slot == 1 ? below : above;
    const Endpoint whole = g.add("SelectV2", {there, arriving, none});
    g.set_input_grad(slot, BroadcastGradient(g, g.input(slot), g.output(0)).to_a(whole));
  }
  return {};
}

Status cross(GradContext& g) {
  if (g.is_needed(0)) g.set_input_grad(0, g.add("Cross", {g.input(1), g.grad()}));
  if (g.is_needed(1)) g.set_input_grad(1, g.add("Cross", {g.grad(), g.input(0)}));
  return {};
}

Status straight_through(GradContext& g) {
  g.set_input_grad(0, g.grad());
  return {};
}

namespace {

// By the op for it, which gives the gradients of all inputs.
Status by_gradient_op(GradContext& g, std::string_view op,
                      std::initializer_list<const char*> names) {
  Attrs attrs;
  for (const char* name : names) attrs.set(name, *g.attrs().find(name));
  std::vector<Endpoint> inputs = {g.grad()};
  for (int slot = 0; slot < g.num_inputs(); ++slot) inputs.push_back(g.input(slot));
  const Endpoint made = g.add(op, inputs, std::move(attrs));
  for (int slot = 0; slot < g.num_inputs(); ++slot)
    g.set_input_grad(slot, Endpoint{made.node, slot});
  return {};
}

}  // namespace

Status quantize_v4(GradContext& g) {
  return by_gradient_op(g, "QuantizeAndDequantizeV4Grad", {"axis"});
}
Status fake_quant_args(GradContext& g) {
  return by_gradient_op(g, "FakeQuantWithMinMaxArgsGradient",
                        {"min", "max", "num_bits", "narrow_range"});
}
Status fake_quant_vars(GradContext& g) {
  return by_gradient_op(g, std::string(g.attrs().op().name) + "Gradient",
                        {"num_bits", "narrow_range"});
}

}  // namespace millrace::grad
