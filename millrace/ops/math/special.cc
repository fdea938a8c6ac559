// Part of families.h: register_special.
#include <cmath>
#include <limits>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

// Whether it is negative goes nowhere: the plain lgamma would write that where all threads see it.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
float log_gamma(float x) {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}

// The asymptotic series of digamma, after as many steps up as make it accurate; to the left of
// zero by reflection. NaN at the poles: they have no side.
double digamma_of(double x) {
  constexpr double kPi = 3.14159265358979323846;
  constexpr double kLargeEnough = 10;
  // B(2n) / 2n for n = 1 …
  constexpr double kTerms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double reflected = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // Of the fraction alone: the tangent of a large multiple of pi has lost it.
    reflected = kPi / std::tan(kPi * (x - std::floor(x)));
    x = 1 - x;
  }
  double below = 0;
  for (; x < kLargeEnough; ++x) below += 1 / x;
  const double inverse = 1 / (x * x);
  double series = 0;
  double power = inverse;
  for (const double term : kTerms) {
    series += term * power;
    power *= inverse;
  }
  return std::log(x) - 0.5 / x - series - below - reflected;
}

Status add_special(OpRegistry& ops, std::string name, GradFn gradient, std::string doc,
                   KernelFactory cpu, std::string example) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = "x: T -> y: T | T: floating",
                  .infer = infer::same_as_input,
                  .cpu = std::move(cpu),
                  .grad = gradient,
                  .examples = {std::move(example)}});
}

}  // namespace

Status register_special(OpRegistry& ops) {
  MR_TRY(add_special(ops, "Erf", grad::erf,
                     "The error function: 2 / sqrt(pi) times the integral of exp(-t^2).",
                     cpu::unary<cpu::Floating>([](auto x) { return std::erf(x); }),
                     "[0 1 -inf] -> [0 0.8427007929 -1]"));
  MR_TRY(add_special(ops, "Erfc", grad::erfc, "1 - erf(x), accurate where that is small.",
                     cpu::unary<cpu::Floating>([](auto x) { return std::erfc(x); }),
                     "[0 1 inf] -> [1 0.1572992070 0]"));
  MR_TRY(add_special(ops, "Lgamma", grad::lgamma,
                     "The logarithm of the absolute value of gamma(x).",
                     cpu::unary<cpu::Floating>([](auto x) { return log_gamma(x); }),
                     "[1 0.5 4 -0.5] -> [0 0.5723649429 1.7917594692 1.2655121235]"));
  return add_special(
      ops, "Digamma", /*gradient=*/nullptr, "The derivative of Lgamma; NaN at its poles.",
      cpu::unary<cpu::Floating>([](auto x) { return static_cast<decltype(x)>(digamma_of(x)); }),
      "[1 0.5 -0.5 0] -> [-0.5772156649 -1.9635100260 0.0364899740 nan]");
}

}  // namespace millrace
