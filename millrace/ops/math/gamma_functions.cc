#include "millrace/ops/math/gamma_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace millrace {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPrecision = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 5000;

// A number and its derivative by a: series are summed with both at once.
struct Dual {
  double value = 0, slope = 0;

  friend Dual operator+(Dual x, Dual y) { return {x.value + y.value, x.slope + y.slope}; }
  friend Dual operator*(Dual x, Dual y) {
    return {x.value * y.value, x.slope * y.value + x.value * y.slope};
  }
  friend Dual operator/(Dual x, Dual y) {
    const double quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }
};

// x^a exp(-x) / gamma(a).
Dual front(double a, double x) {
  const double value = std::exp(a * std::log(x) - x - log_gamma(a));
  return {value, value * (std::log(x) - digamma(a))};
}

bool is_settled(const Dual& term, const Dual& sum) {
  return std::abs(term.value) <= kPrecision * std::abs(sum.value) &&
         std::abs(term.slope) <= kPrecision * std::abs(sum.slope);
}

// The lower share as a power series: front / a * (1 + x/(a+1) + x^2/((a+1)(a+2)) + …).
Dual lower_series(double a, double x) {
  Dual term{1, 0}, sum{1, 0}, next{a, 1};
  for (int i = 0; i < kMostSteps; ++i) {
    next.value += 1;
    term = term * (Dual{x, 0} / next);
    sum = sum + term;
    if (is_settled(term, sum)) break;
  }
  return front(a, x) * sum / Dual{a, 1};
}

// The upper share as a continued fraction, by Lentz's method with both at once.
Dual upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  Dual b{x + 1 - a, -1};
  if (b.value == 0) b.value = kTiny;
  Dual c{1 / kTiny, 0}, d = Dual{1, 0} / b, h = d;
  for (int i = 1; i < kMostSteps; ++i) {
    const Dual numerator = Dual{-static_cast<double>(i), 0} * Dual{i - a, -1};
    b.value += 2;
    d = numerator * d + b;
    if (d.value == 0) d.value = kTiny;
    c = b + numerator / c;
    if (c.value == 0) c.value = kTiny;
    d = Dual{1, 0} / d;
    const Dual step = d * c;
    h = h * step;
    if (std::abs(step.value - 1) <= kPrecision && std::abs(step.slope) <= kPrecision) break;
  }
  return front(a, x) * h;
}

// Where the series is short; the fraction is elsewhere.
bool series_is_short(double a, double x) { return x <= 1 || x <= a; }

bool is_whole(double x) { return x == std::floor(x); }

// The continued fraction of the incomplete beta function.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto safe = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / safe(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + even * d);
    c = safe(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + odd * d);
    c = safe(1 + odd / c);
    const double step = d * c;
    h *= step;
    if (std::abs(step - 1) <= kPrecision) break;
  }
  return h;
}

}  // namespace

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The asymptotic series, after as many steps up as make it accurate; to the left of zero by
// reflection. NaN at the poles: they have no side.
double digamma(double x) {
  constexpr double kLargeEnough = 10;
  // B(2n) / 2n for n = 1 …
  constexpr double kTerms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double reflected = 0;
  if (x <= 0) {
    if (is_whole(x)) return kNan;
    // Of the fraction alone: the tangent of a large multiple of pi has lost it.
    reflected = std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
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

double lower_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return series_is_short(a, x) ? lower_series(a, x).value : 1 - upper_fraction(a, x).value;
}

double upper_gamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  return series_is_short(a, x) ? 1 - lower_series(a, x).value : upper_fraction(a, x).value;
}

double lower_gamma_by_a(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (x == 0) return 0;
  return series_is_short(a, x) ? lower_series(a, x).slope : -upper_fraction(a, x).slope;
}

// The share below the sample does not change: d share / da + density * d sample / da = 0.
double gamma_sample_by_a(double a, double sample) {
  if (std::isnan(a) || std::isnan(sample) || sample < 0 || a <= 0) return kNan;
  if (sample == 0) return 0;
  const double density = std::exp((a - 1) * std::log(sample) - sample - log_gamma(a));
  return -lower_gamma_by_a(a, sample) / density;
}

// Some terms as they are, the rest by Euler and Maclaurin.
double hurwitz_zeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNan;
  if (x == 1) return kInfinity;
  if (q <= 0) {
    if (is_whole(q)) return kInfinity;
    if (!is_whole(x)) return kNan;
    if (q < -1e6) return kNan;  // as many terms would be summed one by one
  }
  constexpr double kLargeEnough = 10;
  double sum = 0;
  for (; q < kLargeEnough; ++q) sum += std::pow(q, -x);
  // B(2n) / (2n)! for n = 1 …
  constexpr double kTerms[] = {1.0 / 12,
                               -1.0 / 720,
                               1.0 / 30240,
                               -1.0 / 1209600,
                               1.0 / 47900160,
                               -691.0 / 1307674368000,
                               1.0 / 74724249600,
                               -3617.0 / 10670622842880000,
                               43867.0 / 5109094217170944000};
  sum += std::pow(q, 1 - x) / (x - 1) + 0.5 * std::pow(q, -x);
  double rising = x, power = std::pow(q, -x - 1);
  int factor = 1;
  for (const double term : kTerms) {
    sum += term * rising * power;
    rising *= (x + factor) * (x + factor + 1);
    power /= q * q;
    factor += 2;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (std::isnan(n) || std::isnan(x) || n < 0 || !is_whole(n)) return kNan;
  if (n == 0) return digamma(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(log_gamma(n + 1)) * hurwitz_zeta(n + 1, x);
}

double incomplete_beta(double a, double b, double x) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(x) || a <= 0 || b <= 0 || x < 0 || x > 1)
    return kNan;
  if (x == 0 || x == 1) return x;
  const double share = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  // The fraction is short on the left of the mean; the other side is what is left.
  if (x < (a + 1) / (a + b + 2)) return share * beta_fraction(a, b, x) / a;
  return 1 - share * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace millrace
