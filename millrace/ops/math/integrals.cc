// Part of families.h: register_integrals.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

constexpr double kNoIntegral = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

// exp(-x^2) times the integral of exp(t^2) from 0 to x. Near 0 a series whose terms all have one
// sign; far out the asymptotic one.
double dawson(double x) {
  if (std::isnan(x)) return x;
  const double square = x * x;
  if (std::abs(x) < 6) {
    double power = x, sum = x;
    for (int k = 1; k < 300; ++k) {
      power *= square / k;
      const double term = power / (2 * k + 1);
      sum += term;
      if (std::abs(term) <= std::abs(sum) * 1e-17) break;
    }
    return sum * std::exp(-square);
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    const double next = term * (2 * k - 1) / (2 * square);
    if (next >= term) break;
    term = next;
    sum += term;
  }
  return sum / (2 * x);
}

// The exponential integral Ei. TensorFlow has it to the right of its pole alone.
double exponential_integral(double x) {
  if (std::isnan(x) || x < 0 || std::isinf(x)) return kNoIntegral;
  return x == 0 ? -std::numeric_limits<double>::infinity() : std::expint(x);
}

// The integrals of cos(pi t^2 / 2), the real part, and of sin from 0 to x >= 0: near 0 by their
// series, else by a continued fraction of the complex error function (Lentz's way to compute it).
std::complex<double> fresnel(double x) {
  if (x > 1e17) return {0.5, 0.5};  // it is as near as a double can tell; the square may overflow
  const double angle = kPi * x * x;
  if (x < 1.5) {
    double cosine = x, sine = 0, term = x;
    for (int k = 1; k < 60 && term > x * 1e-18; ++k) {
      term *= angle / 2 / k;
      const double part = (k / 2 % 2 == 0 ? term : -term) / (2 * k + 1);
      (k % 2 == 0 ? cosine : sine) += part;
    }
    return {cosine, sine};
  }
  constexpr double kTiny = 1e-300;
  std::complex<double> b(1, -angle), c(1 / kTiny, 0), d = 1.0 / b, h = d;
  for (int n = 1; n < 400; n += 2) {
    const double a = -n * (n + 1.0);
    b += 4.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const std::complex<double> change = c * d;
    h *= change;
    if (std::abs(change - 1.0) < 1e-16) break;
  }
  h *= std::complex<double>(x, -x);
  const std::complex<double> turn(std::cos(angle / 2), std::sin(angle / 2));
  return std::complex<double>(0.5, 0.5) * (1.0 - turn * h);
}

double fresnel_cosine(double x) { return std::copysign(fresnel(std::abs(x)).real(), x); }
double fresnel_sine(double x) { return std::copysign(fresnel(std::abs(x)).imag(), x); }

// The sum of (-w)^k / k^2: Spence's function of 1 + w, |w| <= 1/2.
double spence_near_one(double w) {
  double power = 1, sum = 0;
  for (int k = 1; k < 60; ++k) {
    power *= -w;
    sum += power / (static_cast<double>(k) * k);
  }
  return sum;
}

// The integral of log t / (1 - t) from 1 to x.
double spence(double x) {
  if (std::isnan(x) || x < 0 || std::isinf(x)) return kNoIntegral;
  if (x == 0) return kPi * kPi / 6;
  if (x > 1.5) {
    const double log_x = std::log(x);
    return -0.5 * log_x * log_x - spence(1 / x);
  }
  if (x < 0.5) return kPi * kPi / 6 - std::log(x) * std::log1p(-x) - spence_near_one(-x);
  return spence_near_one(x - 1);
}

// --- slopes ---

Status by_integrand(GradContext& g, Endpoint slope) {
  g.set_input_grad(0, g.add("Mul", {g.grad(), slope}));
  return {};
}
Endpoint value(GradContext& g, double number) { return g.scalar(g.dtype(g.input(0)), number); }

Status dawson_gradient(GradContext& g) {
  const Endpoint product = g.add("Mul", {g.input(0), g.output(0)});
  return by_integrand(g, g.add("Sub", {value(g, 1), g.add("Mul", {value(g, 2), product})}));
}
Status expint_gradient(GradContext& g) {
  return by_integrand(g, g.add("RealDiv", {g.add("Exp", {g.input(0)}), g.input(0)}));
}
Endpoint fresnel_angle(GradContext& g) {
  return g.add("Mul", {value(g, kPi / 2), g.add("Square", {g.input(0)})});
}
Status fresnel_cos_gradient(GradContext& g) {
  return by_integrand(g, g.add("Cos", {fresnel_angle(g)}));
}
Status fresnel_sin_gradient(GradContext& g) {
  return by_integrand(g, g.add("Sin", {fresnel_angle(g)}));
}
Status spence_gradient(GradContext& g) {
  const Endpoint x = g.input(0), one = value(g, 1);
  const Endpoint slope = g.add("RealDiv", {g.add("Log", {x}), g.add("Sub", {one, x})});
  const Endpoint at_one = g.add("Equal", {x, one});
  return by_integrand(g, g.add("SelectV2", {at_one, value(g, -1), slope}));
}

template <double (*kFunction)(double)>
Status add_integral(OpRegistry& ops, std::string name, std::string doc, GradFn gradient,
                    std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T -> y: T | T: floating",
      .infer = infer::same_as_input,
      .cpu = cpu::unary<cpu::Floating>(
          [](auto x) { return static_cast<decltype(x)>(kFunction(static_cast<double>(x))); }),
      .grad = gradient,
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_integrals(OpRegistry& ops) {
  MR_TRY(add_integral<dawson>(ops, "Dawsn",
                              "Dawson's integral: exp(-x^2) times that of exp(t^2) from 0 to x.",
                              dawson_gradient,
                              "[0 1 -0.5 7] -> [0 0.538079506912768 -0.424436383502022 "
                              "0.072180974658236]"));
  MR_TRY(add_integral<exponential_integral>(
      ops, "Expint", "The exponential integral Ei of positive numbers.", expint_gradient,
      "[1 2.5 7] -> [1.895117816355937 7.073765894578601 191.5047433355014]"));
  MR_TRY(add_integral<fresnel_cosine>(
      ops, "FresnelCos", "The integral of cos(pi t^2 / 2) from 0 to x.", fresnel_cos_gradient,
      "[0 1 -0.5 2.5] -> [0 0.779893400376823 -0.492344225871446 0.457413009641777]"));
  MR_TRY(add_integral<fresnel_sine>(
      ops, "FresnelSin", "The integral of sin(pi t^2 / 2) from 0 to x.", fresnel_sin_gradient,
      "[0 1 -0.5 2.5] -> [0 0.438259147390355 -0.064732432859999 0.619181755819593]"));
  return add_integral<spence>(
      ops, "Spence", "Spence's function: the integral of log t / (1 - t) from 1 to x.",
      spence_gradient,
      "[0.25 1 1.5 7] -> [0.978469392930306 0 -0.448414206923646 -3.089942051088032]");
}

}  // namespace millrace
