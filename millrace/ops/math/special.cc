// Part of families.h: register_special.
#include <cmath>
#include <limits>
#include <numbers>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gamma_functions.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

// As ::log_gamma of doubles, in the precision of floats.
float float_log_gamma(float x) {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}

// --- the inverse of the normal distribution, and of erf with it ---

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Where a normal number is below with probability p <= 1/2: a rough formula, then steps that take
// the second derivative into account.
double normal_quantile(double p) {
  if (std::isnan(p) || p < 0) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0) return -std::numeric_limits<double>::infinity();
  const double t = std::sqrt(-2 * std::log(p));
  double x = (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + t * 0.04481)) - t;
  for (int i = 0; i < 4; ++i) {
    const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    if (density == 0) break;
    const double step = (normal_below(x) - p) / density;
    x -= step / (1 + 0.5 * x * step);
  }
  return x;
}

double ndtri(double p) {
  if (p > 1) return std::numeric_limits<double>::quiet_NaN();
  return p > 0.5 ? -normal_quantile(1 - p) : normal_quantile(p);
}

double erfinv(double x) {
  const double size = std::abs(x);
  if (!(size < 0.5)) {
    // 1 - size is exact here.
    return std::copysign(-normal_quantile((1 - size) / 2) / std::numbers::sqrt2, x);
  }
  double y = x * std::sqrt(std::numbers::pi) / 2;
  for (int i = 0; i < 5; ++i) {
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    const double step = (std::erf(y) - x) / slope;
    y -= step / (1 + y * step);
  }
  return y;
}

// --- x times something of y, and 0 where x is, whatever y is ---

template <class F>
Status add_guarded(OpRegistry& ops, std::string name, GradFn gradient, std::string doc, F,
                   std::string example) {
  using Types = cpu::Join<cpu::Floating, cpu::Complex>;
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T, y: T -> z: T | T: {half, bfloat16, float, double, complex64, complex128}",
      .infer = infer::broadcast,
      .cpu = cpu::binary<Types>([](auto x, auto y) {
        using T = decltype(x);
        return x == T(0) ? T(0) : static_cast<T>(F()(x, y));
      }),
      .grad = gradient,
      .examples = {std::move(example)},
  });
}

constexpr auto times_log1p = [](auto x, auto y) {
  using T = decltype(x);
  if constexpr (cpu::kIsComplex<T>) {
    return x * std::log(T(1) + y);
  } else {
    return x * std::log1p(y);
  }
};

Status register_guarded(OpRegistry& ops) {
  MR_TRY(add_guarded(
      ops, "Xdivy", grad::xdivy, "x / y, and 0 where x is 0.", [](auto x, auto y) { return x / y; },
      "[0 1 4], [0 2 2] -> [0 0.5 2]"));
  MR_TRY(add_guarded(
      ops, "Xlogy", grad::xlogy, "x log(y), and 0 where x is 0.",
      [](auto x, auto y) { return x * std::log(y); }, "[0 1 2], [0 1 2] -> [0 0 1.3862943611]"));
  return add_guarded(ops, "Xlog1py", grad::xlog1py, "x log(1 + y), and 0 where x is 0.",
                     times_log1p, "[0 1 2], [-1 0 1] -> [0 0 1.3862943611]");
}

Status add_special(OpRegistry& ops, std::string name, GradFn gradient, std::string doc,
                   KernelFactory cpu, std::vector<std::string> examples) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = "x: T -> y: T | T: floating",
                  .infer = infer::same_as_input,
                  .cpu = std::move(cpu),
                  .grad = gradient,
                  .examples = std::move(examples)});
}

}  // namespace

Status register_special(OpRegistry& ops) {
  MR_TRY(add_special(
      ops, "Erf", grad::erf, "The error function: 2 / sqrt(pi) times the integral of exp(-t^2).",
      cpu::unary<cpu::Floating, cpu::VectorFunction::erf>([](auto x) { return std::erf(x); }),
      {"[0 1 -inf] -> [0 0.8427007929 -1]"}));
  MR_TRY(add_special(
      ops, "Erfc", grad::erfc, "1 - erf(x), accurate where that is small.",
      cpu::unary<cpu::Floating, cpu::VectorFunction::erfc>([](auto x) { return std::erfc(x); }),
      {"[0 1 inf] -> [1 0.1572992070 0]"}));
  MR_TRY(add_special(ops, "Lgamma", grad::lgamma,
                     "The logarithm of the absolute value of gamma(x).",
                     cpu::unary<cpu::Floating>([](auto x) {
                       if constexpr (std::is_same_v<decltype(x), double>) {
                         return log_gamma(x);
                       } else {
                         return float_log_gamma(x);
                       }
                     }),
                     {"[1 0.5 4 -0.5] -> [0 0.5723649429 1.7917594692 1.2655121235]"}));
  MR_TRY(add_special(
      ops, "Digamma", grad::digamma, "The derivative of Lgamma; NaN at its poles.",
      cpu::unary<cpu::Floating>([](auto x) { return static_cast<decltype(x)>(digamma(x)); }),
      {"[1 0.5 -0.5 0] -> [-0.5772156649 -1.9635100260 0.0364899740 nan]",
       "[1 0.5 3] -> [-0.5772156649 -1.9635100260 0.9227843351]"}));
  MR_TRY(add_special(
      ops, "Erfinv", grad::erfinv, "The inverse of Erf.",
      cpu::unary<cpu::Floating>([](auto x) { return static_cast<decltype(x)>(erfinv(x)); }),
      {"[0 0.5 -1] -> [0 0.4769362762 -inf]", "[0 0.5] -> [0 0.4769362762]"}));
  MR_TRY(add_special(
      ops, "Ndtri", grad::ndtri, "The inverse of the normal distribution function.",
      cpu::unary<cpu::Floating>([](auto x) { return static_cast<decltype(x)>(ndtri(x)); }),
      {"[0.5 0.25 1] -> [0 -0.6744897502 inf]", "[0.5 0.25] -> [0 -0.6744897502]"}));
  MR_TRY(register_guarded(ops));
  return ops.add({
      .name = "NextAfter",
      .doc = "The number next to x1 in the direction of x2.",
      .signature = "x1: T, x2: T -> output: T | T: {double, float} = float",
      .infer = infer::broadcast,
      .cpu = cpu::binary<cpu::Types<float, double>>(
          [](auto x, auto y) { return std::nextafter(x, y); }),
      .not_differentiable = "a step to the next number is no function of real numbers",
      .examples = {"[1 2], [1 2] -> [1 2]"},
  });
}

}  // namespace millrace
