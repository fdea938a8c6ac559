// Part of families.h: register_bessels.
#include <cmath>
#include <limits>
#include <numbers>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

constexpr double kBesselNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kBesselInfinity = std::numeric_limits<double>::infinity();
// Beyond it the asymptotic series is accurate: its smallest term is of the size of exp(-2x).
constexpr double kFar = 19;

// 1 - (m-1)/8x + (m-1)(m-9)/2!(8x)^2 - …, m being 4 n^2: what modified Bessel functions of order n
// are far out, but for their exponential. `sign` is 1 for I, -1 for K.
double asymptotic(int order, double x, int sign) {
  const double m = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2.0 * k - 1;
    const double next = term * -sign * (m - odd * odd) / (8.0 * k * x);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return sum;
}

// exp(-|x|) I_n(x): all terms of its series have the same sign.
double scaled_i(int order, double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  const double sign = order == 1 && x < 0 ? -1 : 1;
  if (std::isinf(x)) return 0;
  if (size > kFar) {
    return sign * asymptotic(order, size, 1) / std::sqrt(2 * std::numbers::pi * size);
  }
  const double quarter = size * size / 4;
  double term = order == 0 ? 1 : size / 2, sum = term;
  for (int k = 1; k < 200; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
    if (term <= sum * 1e-17) break;
  }
  return sign * sum * std::exp(-size);
}

// exp(x) K_n(x). NaN to the left of its pole.
double scaled_k(int order, double x) {
  if (std::isnan(x) || x < 0) return kBesselNan;
  if (x == 0) return kBesselInfinity;
  if (std::isinf(x)) return 0;
  if (x > kFar) return asymptotic(order, x, -1) * std::sqrt(std::numbers::pi / (2 * x));
  return std::cyl_bessel_k(static_cast<double>(order), x) * std::exp(x);
}

double plain_i(int order, double x) {
  return std::isinf(x) ? (order == 1 ? x : kBesselInfinity)
                       : scaled_i(order, x) * std::exp(std::abs(x));
}
double plain_k(int order, double x) {
  return std::isinf(x) && x > 0 ? 0 : scaled_k(order, x) * std::exp(-x);
}

template <class F>
Status add_bessel(OpRegistry& ops, std::string name, std::string doc, GradFn gradient, F,
                  std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T -> y: T | T: floating",
      .infer = infer::same_as_input,
      .cpu = cpu::unary<cpu::Floating>(
          [](auto x) { return static_cast<decltype(x)>(F()(static_cast<double>(x))); }),
      .grad = gradient,
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_bessels(OpRegistry& ops) {
  MR_TRY(add_bessel(
      ops, "BesselI0", "The modified Bessel function of the first kind, of order 0.",
      grad::bessel_i0, [](double x) { return plain_i(0, x); },
      "[0 1 -2] -> [1 1.2660658778 2.2795853023]"));
  MR_TRY(add_bessel(
      ops, "BesselI1", "The modified Bessel function of the first kind, of order 1.",
      grad::bessel_i1, [](double x) { return plain_i(1, x); },
      "[0 1 -2] -> [0 0.5651591040 -1.5906368546]"));
  MR_TRY(add_bessel(
      ops, "BesselI0e", "BesselI0 times exp(-|x|).", grad::bessel_i0e,
      [](double x) { return scaled_i(0, x); }, "[0 1 30] -> [1 0.4657596076 0.0731459465]"));
  MR_TRY(add_bessel(
      ops, "BesselI1e", "BesselI1 times exp(-|x|).", grad::bessel_i1e,
      [](double x) { return scaled_i(1, x); }, "[0 1 30] -> [0 0.2079104154 0.0719163306]"));
  MR_TRY(add_bessel(
      ops, "BesselJ0", "The Bessel function of the first kind, of order 0.", grad::bessel_j0,
      [](double x) { return ::j0(x); }, "[0 1] -> [1 0.7651976866]"));
  MR_TRY(add_bessel(
      ops, "BesselJ1", "The Bessel function of the first kind, of order 1.", grad::bessel_j1,
      [](double x) { return ::j1(x); }, "[0 1] -> [0 0.4400505857]"));
  MR_TRY(add_bessel(
      ops, "BesselY0", "The Bessel function of the second kind, of order 0.", grad::bessel_y0,
      [](double x) { return x < 0 ? kBesselNan : ::y0(x); },
      "[1 2] -> [0.0882569642 0.5103756726]"));
  MR_TRY(add_bessel(
      ops, "BesselY1", "The Bessel function of the second kind, of order 1.", grad::bessel_y1,
      [](double x) { return x < 0 ? kBesselNan : ::y1(x); },
      "[1 2] -> [-0.7812128213 -0.1070324315]"));
  MR_TRY(add_bessel(
      ops, "BesselK0", "The modified Bessel function of the second kind, of order 0.",
      grad::bessel_k0, [](double x) { return plain_k(0, x); },
      "[1 2] -> [0.4210244382 0.1138938727]"));
  MR_TRY(add_bessel(
      ops, "BesselK1", "The modified Bessel function of the second kind, of order 1.",
      grad::bessel_k1, [](double x) { return plain_k(1, x); },
      "[1 2] -> [0.6019072302 0.1398658818]"));
  MR_TRY(add_bessel(
      ops, "BesselK0e", "BesselK0 times exp(x).", grad::bessel_k0e,
      [](double x) { return scaled_k(0, x); }, "[1 30] -> [1.1444630797 0.2278866656]"));
  return add_bessel(
      ops, "BesselK1e", "BesselK1 times exp(x).", grad::bessel_k1e,
      [](double x) { return scaled_k(1, x); }, "[1 30] -> [1.6361534863 0.2316541294]");
}

}  // namespace millrace
