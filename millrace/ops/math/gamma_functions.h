// Functions around gamma, of doubles: what the ops of that family compute, whatever their type.
// Where a function has no value they give NaN, as TensorFlow's do.
#pragma once

namespace millrace {

// log |gamma(x)|; safe in all threads, which std::lgamma is not.
double log_gamma(double x);
// The derivative of log_gamma; NaN at its poles.
double digamma(double x);
// The share of the integral of t^(a-1) exp(-t) that lies below x, and above it.
double lower_gamma(double a, double x);
double upper_gamma(double a, double x);
// The derivative of lower_gamma by a.
double lower_gamma_by_a(double a, double x);
// The derivative by a of a gamma-distributed sample of shape a, at the same point of its
// distribution.
double gamma_sample_by_a(double a, double sample);
// The sum of (q + k)^-x over all k >= 0.
double hurwitz_zeta(double x, double q);
// The n-th derivative of digamma.
double polygamma(double n, double x);
// The share of the integral of t^(a-1) (1-t)^(b-1) over [0, 1] that lies below x.
double incomplete_beta(double a, double b, double x);

}  // namespace millrace
