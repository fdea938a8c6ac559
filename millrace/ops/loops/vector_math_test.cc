// Vector functions against the scalar ones: near them everywhere, equal at the corners, and the
// same wherever an element stands.
#include "millrace/ops/loops/vector_math.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/loops/plain_powers.h"

namespace millrace::cpu {
namespace {

constexpr Instructions kWide[] = {Instructions::avx2, Instructions::avx512};

struct Named {
  const char* name;
  VectorFunction function;
  double (*exact)(double);
};
#define MR_ROW(name) {#name, VectorFunction::name, [](double x) { return std::name(x); }},
const Named kFunctions[] = {
    MR_LIBMVEC_FUNCTIONS(MR_ROW){"elu", VectorFunction::elu,
                                 [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"selu", VectorFunction::selu,
     [](double x) { return x < 0 ? kSeluScaleAlpha * std::expm1(x) : kSeluScale * x; }},
    {"rsqrt", VectorFunction::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"sqrt", VectorFunction::sqrt, [](double x) { return std::sqrt(x); }},
    {"sigmoid", VectorFunction::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", VectorFunction::softplus,
     [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
};
#undef MR_ROW

// Everything that functions treat apart, and a sweep over what they treat alike.
template <class T>
std::vector<T> arguments() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {T(0),
                      -T(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      T(1),
                      T(-1),
                      Limits::max(),
                      Limits::lowest(),
                      Limits::min(),
                      -Limits::min(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      T(88),
                      T(-88),
                      T(89),
                      T(-104),
                      T(709),
                      T(-746),
                      T(1e5),
                      T(-1e5)};
  for (int i = 0; i < 4000; ++i) x.push_back(T(-20) + T(i) / T(100) + T(i % 7) / T(1000));
  for (int i = 0; i < 400; ++i) x.push_back(T(i - 200) / T(201));
  return x;
}

// How far apart, in units in the last place of the exact one; huge where one is infinite, NaN or a
// zero of another sign and the other is not.
template <class T>
double distance(double exact, T got) {
  const T wanted = static_cast<T>(exact);
  if (std::isnan(wanted) || std::isnan(got))
    return std::isnan(wanted) == std::isnan(got) ? 0 : std::numeric_limits<double>::max();
  if (wanted == got) return std::signbit(wanted) == std::signbit(got) ? 0 : 1e9;
  if (std::isinf(wanted) || std::isinf(got)) return std::numeric_limits<double>::max();
  const T size = std::abs(wanted);
  const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return std::abs(static_cast<double>(got) - exact) / static_cast<double>(unit);
}

template <class T>
void compare(const Named& row, DType dtype, Instructions has, double most) {
  const VectorLoop loop = vector_loop(row.function, dtype, has);
  REQUIRE(bool(loop));
  const std::vector<T> x = arguments<T>();
  std::vector<T> y(x.size());
  loop(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(row.name << "(" << x[i] << ") of " << dtype_name(dtype) << " is " << y[i]);
    CHECK(distance(row.exact(static_cast<double>(x[i])), y[i]) <= most);
  }
}

TEST_CASE("vector functions lie within few units in the last place, and agree at the corners") {
  for (const Instructions has : kWide) {
    if (has > instructions()) continue;
    for (const Named& row : kFunctions) {
      // What is made of two functions has the errors of both.
      const bool is_made = row.function >= VectorFunction::elu;
      compare<float>(row, DType::f32, has, is_made ? 6 : 4.1);
      // The scalar function is not exact either.
      compare<double>(row, DType::f64, has, is_made ? 8 : 6);
    }
  }
}

TEST_CASE("an element's result does not depend on its place, nor on its neighbours") {
  const std::vector<float> x = arguments<float>();
  for (const Instructions has : kWide) {
    if (has > instructions()) continue;
    for (const Named& row : kFunctions) {
      const VectorLoop loop = vector_loop(row.function, DType::f32, has);
      std::vector<float> together(x.size()), alone(x.size());
      loop(x.data(), together.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) loop(&x[i], &alone[i], 1);
      INFO(row.name);
      CHECK(std::memcmp(together.data(), alone.data(), x.size() * sizeof(float)) == 0);
    }
  }
}

template <class T>
void compare_exponentials(DType dtype, Instructions has, double most_units) {
  const ExponentialsLoop loop = exponentials_loop(dtype, has);
  REQUIRE(bool(loop));
  for (const int64_t n : {0, 1, 3, 8, 15, 16, 17, 100, 511, 512, 513, 5000}) {
    std::vector<T> x(static_cast<size_t>(n)), y(x.size() + 1, T(7));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 37) / T(4) - T(3);
    const double sum = loop(x.data(), 6.25, y.data(), n);
    double exact = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double each = std::exp(static_cast<double>(x[i]) - 6.25);
      CHECK(distance(each, y[i]) <= most_units);
      exact += each;
    }
    CHECK(sum == doctest::Approx(exact).epsilon(1e-6));
    CHECK(y.back() == T(7));
    // In place, too.
    CHECK(loop(x.data(), 6.25, x.data(), n) == sum);
    y.pop_back();
    CHECK(x == y);
  }
}

TEST_CASE("exponentials of a row, less a number, come with their sum") {
  for (const Instructions has : kWide) {
    if (has > instructions()) continue;
    compare_exponentials<float>(DType::f32, has, 4.1);
    compare_exponentials<double>(DType::f64, has, 6);
    const float bad[] = {1, std::numeric_limits<float>::quiet_NaN(), 2};
    float made[3];
    CHECK(std::isnan(exponentials_loop(DType::f32, has)(bad, 2, made, 3)));
  }
}

TEST_CASE("powers and angles take one value for all on either side, also in place") {
  for (const Instructions has : kWide) {
    if (has > instructions()) continue;
    const VectorPairLoop pow = vector_loop(VectorPair::pow, DType::f64, has);
    const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const auto n = static_cast<int64_t>(x.size());
    const double two = 2;
    std::vector<double> y = x;
    pow(y.data(), 1, &two, 0, y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == doctest::Approx(x[i] * x[i]));
    y = x;
    pow(&two, 0, y.data(), 1, y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == doctest::Approx(std::exp2(x[i])));
    y = x;
    vector_loop(VectorPair::atan2, DType::f64, has)(y.data(), 1, x.data(), 1, y.data(), n);
    CHECK(y[0] == 0);
    CHECK(y[5] == doctest::Approx(std::atan(1)));
  }
}

template <class T>
void compare_plain_powers() {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x = {T(0), T(-0.0), T(1.5),    T(-2.25),   T(1e-3),
                            T(7), T(1e9),  kInfinity, -kInfinity, kNaN};
  const auto n = static_cast<int64_t>(x.size());
  for (const T exponent : {T(-1), T(-0.5), T(0), T(0.5), T(1), T(2), T(3)}) {
    std::vector<T> z = x;  // in place
    REQUIRE(plain_power(z.data(), exponent, z.data(), n));
    for (size_t i = 0; i < x.size(); ++i) {
      const T expected = std::pow(x[i], exponent);
      CAPTURE(x[i]);
      CAPTURE(exponent);
      CHECK(std::isnan(z[i]) == std::isnan(expected));
      if (std::isnan(expected)) continue;
      CHECK(std::signbit(z[i]) == std::signbit(expected));
      if (std::isinf(expected)) {
        CHECK(z[i] == expected);
      } else {
        CHECK(z[i] == doctest::Approx(expected).epsilon(8 * std::numeric_limits<T>::epsilon()));
      }
    }
  }
  std::vector<T> z = x;
  CHECK(!plain_power(x.data(), T(1.7), z.data(), n));
  CHECK(z[2] == x[2]);
}

TEST_CASE("powers that need no logarithm give what the power function gives") {
  if (instructions() == Instructions::plain) return;
  compare_plain_powers<float>();
  compare_plain_powers<double>();
}

TEST_CASE("one value for all keeps the sign of a zero") {
  for (const Instructions has : kWide) {
    if (has > instructions()) continue;
    const float zero = -0.0f;
    const std::vector<float> x = {-1, 1, -3};
    std::vector<float> z(x.size());
    vector_loop(VectorPair::atan2, DType::f32, has)(&zero, 0, x.data(), 1, z.data(), 3);
    for (size_t i = 0; i < x.size(); ++i) CHECK(z[i] == doctest::Approx(std::atan2(zero, x[i])));
    CHECK(std::signbit(z[1]));
    vector_loop(VectorPair::pow, DType::f32, has)(&zero, 0, x.data(), 1, z.data(), 3);
    CHECK(z[0] == -std::numeric_limits<float>::infinity());
    vector_loop(VectorPair::atan2, DType::f32, has)(&zero, 0, &zero, 0, z.data(), 3);
    CHECK(z[2] == doctest::Approx(std::atan2(zero, zero)));
  }
}

TEST_CASE("other types have no vector functions, and plain instructions have none at all") {
  CHECK(!vector_loop(VectorFunction::exp, DType::f16));
  CHECK(!vector_loop(VectorFunction::none, DType::f32));
  CHECK(!vector_loop(VectorFunction::exp, DType::f32, Instructions::plain));
  CHECK(!vector_loop(VectorPair::none, DType::f32));
}

}  // namespace
}  // namespace millrace::cpu
