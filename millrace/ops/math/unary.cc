// Part of families.h: register_unary.
#include <cmath>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using cpu::Complex;
using cpu::Floating;
using cpu::Join;
using cpu::kIsComplex;
using cpu::Number;
using cpu::Real;
using cpu::Signed;
using cpu::VectorFunction;
using FloatingOrComplex = Join<Floating, Complex>;
using SignedReal = Join<Floating, cpu::SignedIntegers>;

constexpr std::string_view kFloatingOrComplex =
    "{bfloat16, half, float, double, complex64, complex128}";
constexpr std::string_view kSignedReal =
    "{bfloat16, half, float, double, int8, int16, int32, int64}";
constexpr std::string_view kSigned =
    "{bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";

// One row of this family: x -> y of the same type.
// Without a gradient it is one of those that jump and are flat elsewhere.
OpDef row(std::string name, GradFn gradient, std::string doc, std::string_view types,
          KernelFactory cpu, std::vector<std::string> examples) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = str_cat("x: T -> y: T | T: ", types),
          .infer = infer::same_as_input,
          .cpu = std::move(cpu),
          .grad = gradient,
          .not_differentiable =
              gradient == nullptr ? "it is constant but where it jumps" : std::string(),
          .examples = std::move(examples)};
}

// The type that an integer quotient of 1 and x has: itself.
constexpr auto reciprocal = [](auto x) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    // 1 / 0 has no value; 0 is as good as any and better than a signal.
    return x == 0 ? T(0) : static_cast<T>(T(1) / x);
  } else {
    return T(1) / x;
  }
};

constexpr auto sign = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return x == T(0) ? T(0) : x / std::abs(x);
  } else if constexpr (std::is_floating_point_v<T>) {
    return cpu::choose(x != x, x, cpu::choose(x > 0, T(1), T(0)) - cpu::choose(x < 0, T(1), T(0)));
  } else {
    return static_cast<T>((x > 0) - (x < 0));
  }
};

// To the nearest whole number, halves to the even one.
constexpr auto round_even = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return T(std::nearbyint(x.real()), std::nearbyint(x.imag()));
  } else if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return std::nearbyint(x);
  }
};

constexpr auto expm1 = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return std::exp(x) - T(1);
  } else {
    return std::expm1(x);
  }
};

constexpr auto log1p = [](auto x) {
  using T = decltype(x);
  if constexpr (kIsComplex<T>) {
    return std::log(T(1) + x);
  } else {
    return std::log1p(x);
  }
};

Status register_signs(OpRegistry& ops) {
  MR_TRY(ops.add(row("Neg", grad::neg, "The negative of x.", kSigned,
                     cpu::unary<Signed>([](auto x) { return cpu::negate(x); }),
                     {"[1 -2 0] -> [-1 2 0]"})));
  MR_TRY(ops.add(row("Abs", grad::abs, "The absolute value of x.", kSignedReal,
                     cpu::unary<SignedReal>([](auto x) { return x < 0 ? cpu::negate(x) : x; }),
                     {"[1 -2 0] -> [1 2 0]"})));
  MR_TRY(ops.add(row("Sign", grad::sign,
                     "-1, 0 or 1; for a complex number, the one of size 1 in its direction.",
                     kSigned, cpu::unary<Signed>(sign), {"[3 -2 0] -> [1 -1 0]"})));
  MR_TRY(ops.add(row("Square", grad::square, "The square of x, x * x.", "number",
                     cpu::unary<Number>([](auto x) { return cpu::multiply(x, x); }),
                     {"[3 2 0] -> [9 4 0]"})));
  for (const char* name : {"Reciprocal", "Inv"}) {
    MR_TRY(ops.add(row(name, grad::reciprocal, "The reciprocal of x, 1 / x.", kSigned,
                       cpu::unary<Signed>(reciprocal),
                       {"[1 -1] -> [1 -1]", "[4 0.5] -> [0.25 2] | T = float"})));
  }
  return {};
}

Status register_powers(OpRegistry& ops) {
  const auto add = [&](std::string name, GradFn gradient, std::string doc, KernelFactory cpu,
                       std::string example) {
    return ops.add(row(std::move(name), gradient, std::move(doc), kFloatingOrComplex,
                       std::move(cpu), {std::move(example)}));
  };
  MR_TRY(add(
      "Sqrt", grad::sqrt, "The square root of x.",
      cpu::unary<FloatingOrComplex, VectorFunction::sqrt>([](auto x) { return std::sqrt(x); }, 2),
      "[4 9] -> [2 3]"));
  MR_TRY(add("Rsqrt", grad::rsqrt, "1 / the square root of x.",
             cpu::unary<FloatingOrComplex, VectorFunction::rsqrt>(
                 [](auto x) { return decltype(x)(1) / std::sqrt(x); }, 2),
             "[4 16] -> [0.5 0.25]"));
  MR_TRY(add("Exp", grad::exp, "e to the power of x.",
             cpu::unary<FloatingOrComplex, VectorFunction::exp>([](auto x) { return std::exp(x); }),
             "[0 1] -> [1 2.718281828]"));
  MR_TRY(add("Expm1", grad::expm1, "exp(x) - 1, accurate near zero.",
             cpu::unary<FloatingOrComplex, VectorFunction::expm1>(expm1),
             "[0 1] -> [0 1.718281828]"));
  MR_TRY(add("Log", grad::log, "The natural logarithm of x.",
             cpu::unary<FloatingOrComplex, VectorFunction::log>([](auto x) { return std::log(x); }),
             "[1 2] -> [0 0.6931471806]"));
  MR_TRY(add("Log1p", grad::log1p, "The natural logarithm of 1 + x, accurate near zero.",
             cpu::unary<FloatingOrComplex, VectorFunction::log1p>(log1p),
             "[0 1] -> [0 0.6931471806]"));
  MR_TRY(
      add("Tanh", grad::tanh, "The hyperbolic tangent of x.",
          cpu::unary<FloatingOrComplex, VectorFunction::tanh>([](auto x) { return std::tanh(x); }),
          "[0 1] -> [0 0.7615941560]"));
  MR_TRY(add("Sigmoid", grad::sigmoid, "1 / (1 + exp(-x)).",
             cpu::unary<FloatingOrComplex, VectorFunction::sigmoid>([](auto x) {
               using T = decltype(x);
               return T(1) / (T(1) + std::exp(-x));
             }),
             "[0 1] -> [0.5 0.7310585786]"));
  MR_TRY(add("Sin", grad::sin, "The sine of x, in radians.",
             cpu::unary<FloatingOrComplex, VectorFunction::sin>([](auto x) { return std::sin(x); }),
             "[0 1] -> [0 0.8414709848]"));
  MR_TRY(add("Cos", grad::cos, "The cosine of x, in radians.",
             cpu::unary<FloatingOrComplex, VectorFunction::cos>([](auto x) { return std::cos(x); }),
             "[0 1] -> [1 0.5403023059]"));
  return add("Tan", grad::tan, "The tangent of x, in radians.",
             cpu::unary<FloatingOrComplex, VectorFunction::tan>([](auto x) { return std::tan(x); }),
             "[0 1] -> [0 1.557407725]");
}

Status register_roundings(OpRegistry& ops) {
  MR_TRY(ops.add(row("Floor", nullptr, "The largest whole number that is not greater than x.",
                     "floating", cpu::unary<Floating>([](auto x) { return std::floor(x); }),
                     {"[1.5 -1.5] -> [1 -2]"})));
  MR_TRY(ops.add(row("Ceil", nullptr, "The smallest whole number that is not less than x.",
                     "floating", cpu::unary<Floating>([](auto x) { return std::ceil(x); }),
                     {"[1.5 -1.5] -> [2 -1]"})));
  MR_TRY(ops.add(row("Rint", nullptr, "The nearest whole number, halves to the even one.",
                     "floating", cpu::unary<Floating>([](auto x) { return std::nearbyint(x); }),
                     {"[1.5 2.5 -0.25] -> [2 2 0]"})));
  return ops.add(row("Round", nullptr, "The nearest whole number, halves to the even one.", kSigned,
                     cpu::unary<Signed>(round_even),
                     {"[1 -2] -> [1 -2]", "[1.5 2.5 -0.25] -> [2 2 0] | T = float"}));
}

Status register_activations(OpRegistry& ops) {
  const auto add = [&](std::string name, GradFn gradient, std::string doc, std::string_view types,
                       KernelFactory cpu, std::string example) {
    return ops.add({.name = std::move(name),
                    .doc = std::move(doc),
                    .signature = str_cat("features: T -> activations: T | T: ", types),
                    .infer = infer::same_as_input,
                    .cpu = std::move(cpu),
                    .grad = gradient,
                    .examples = {std::move(example)}});
  };
  // Written so that NaN stays NaN.
  MR_TRY(add("Relu", grad::relu, "x where it is positive, else 0.", "real",
             cpu::unary<Real>([](auto x) { return x < 0 ? decltype(x)(0) : x; }),
             "[1 0 7] -> [1 0 7]"));
  MR_TRY(add("Relu6", grad::relu6, "x where it is between 0 and 6, else the nearer of both.",
             "real", cpu::unary<Real>([](auto x) {
               using T = decltype(x);
               return x < 0 ? T(0) : x > 6 ? T(6) : x;
             }),
             "[1 0 7] -> [1 0 6]"));
  return add("Softplus", grad::softplus, "log(exp(x) + 1).", "floating",
             cpu::unary<Floating, VectorFunction::softplus>([](auto x) {
               // For large x, exp(x) would overflow although the result is x itself.
               return x > 30 ? x : std::log1p(std::exp(x));
             }),
             "[0 1] -> [0.6931471806 1.313261688]");
}

Status register_tests(OpRegistry& ops) {
  const auto add = [&](std::string name, std::string doc, KernelFactory cpu, std::string example) {
    return ops.add({.name = std::move(name),
                    .doc = std::move(doc),
                    .signature = "x: T -> y: bool | T: floating",
                    .infer = infer::same_as_input,
                    .cpu = std::move(cpu),
                    .not_differentiable = "its result is true or false",
                    .examples = {std::move(example)}});
  };
  MR_TRY(add("IsNan", "True where x is not a number.",
             cpu::unary<Floating>([](auto x) { return std::isnan(x); }),
             "[1 nan inf] -> [false true false]"));
  MR_TRY(add("IsInf", "True where x is infinite.",
             cpu::unary<Floating>([](auto x) { return std::isinf(x); }),
             "[1 nan -inf] -> [false false true]"));
  MR_TRY(add("IsFinite", "True where x is neither infinite nor NaN.",
             cpu::unary<Floating>([](auto x) { return std::isfinite(x); }),
             "[1 nan inf] -> [true false false]"));
  return ops.add({
      .name = "LogicalNot",
      .doc = "True where x is false.",
      .signature = "x: bool -> y: bool",
      .infer = infer::same_as_input,
      .cpu = cpu::unary<cpu::Types<bool>>([](bool x) { return !x; }),
      .not_differentiable = "its result is true or false",
      .examples = {"[true false] -> [false true]"},
  });
}

}  // namespace

Status register_unary(OpRegistry& ops) {
  MR_TRY(register_signs(ops));
  MR_TRY(register_powers(ops));
  MR_TRY(register_roundings(ops));
  MR_TRY(register_activations(ops));
  return register_tests(ops);
}

}  // namespace millrace
