#include "millrace/train/initializers.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "millrace/api/input.h"
#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/random.h"
#include "millrace/train/drawing.h"

namespace millrace::initializers {
namespace {

// Inputs and outputs of a layer with weights of this shape.
std::pair<double, double> fans(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {1, 1};
  if (rank == 1) return {shape[0], shape[0]};
  double field = 1;
  for (int axis = 0; axis + 2 < rank; ++axis) field *= static_cast<double>(shape[axis]);
  return {field * static_cast<double>(shape[rank - 2]),
          field * static_cast<double>(shape[rank - 1])};
}

Output filled(const Scope& scope, const InitialValue& wanted, double number) {
  return ops::fill(scope, sizes_of(wanted.shape), millrace::constant(scope, number, wanted.dtype));
}

Output scaled_normal(const Scope& scope, const InitialValue& wanted, Distribution kind, double mean,
                     double deviation, Seed seed) {
  const Input sizes = sizes_of(wanted.shape);
  const auto [first, second] = op_seeds(seed);
  const Output drawn =
      kind == Distribution::normal
          ? ops::random_standard_normal(scope, sizes, wanted.dtype,
                                        {.seed = first, .seed2 = second})
          : ops::truncated_normal(scope, sizes, wanted.dtype, {.seed = first, .seed2 = second});
  return ops::add(scope, ops::mul(scope, drawn, deviation), mean);
}

}  // namespace

Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }

Initializer constant(double value) {
  return [value](const Scope& scope, const InitialValue& wanted) {
    return filled(scope, wanted, value);
  };
}

Initializer value(Tensor tensor) {
  return [tensor = std::move(tensor)](const Scope& scope, const InitialValue& wanted) {
    if (tensor.shape() != wanted.shape || tensor.dtype() != wanted.dtype) {
      scope.fail(
          invalid("the initial value is ", dtype_name(tensor.dtype()), tensor.shape().to_string(),
                  ", but the variable ", dtype_name(wanted.dtype), wanted.shape.to_string()),
          "initializer");
      return Output();
    }
    return millrace::constant(scope, tensor);
  };
}

Initializer random_uniform(double from, double to, Seed seed) {
  return [=](const Scope& scope, const InitialValue& wanted) {
    return uniform(scope, sizes_of(wanted.shape), from, to, wanted.dtype, seed);
  };
}

Initializer random_normal(double mean, double deviation, Seed seed) {
  return [=](const Scope& scope, const InitialValue& wanted) {
    return scaled_normal(scope, wanted, Distribution::normal, mean, deviation, seed);
  };
}

Initializer truncated_normal(double mean, double deviation, Seed seed) {
  return [=](const Scope& scope, const InitialValue& wanted) {
    return scaled_normal(scope, wanted, Distribution::truncated_normal, mean, deviation, seed);
  };
}

Initializer variance_scaling(VarianceScalingOptions options) {
  return [options](const Scope& scope, const InitialValue& wanted) {
    if (!(options.scale > 0)) {
      scope.fail(invalid("scale is ", options.scale, " and must be positive"), "variance_scaling");
      return Output();
    }
    const auto [in, out] = fans(wanted.whole);
    const double fan = options.fan == Fan::in ? in : options.fan == Fan::out ? out : (in + out) / 2;
    const double variance = options.scale / std::max(1.0, fan);
    if (options.distribution == Distribution::uniform) {
      const double limit = std::sqrt(3.0 * variance);
      return uniform(scope, sizes_of(wanted.shape), -limit, limit, wanted.dtype, options.seed);
    }
    // A normal distribution that is cut at two deviations is narrower by this factor.
    constexpr double kCut = 0.87962566103423978;
    const bool is_cut = options.distribution == Distribution::truncated_normal;
    return scaled_normal(scope, wanted, options.distribution, 0,
                         std::sqrt(variance) / (is_cut ? kCut : 1), options.seed);
  };
}

Initializer glorot_uniform(Seed seed) {
  return variance_scaling(
      {.fan = Fan::average, .distribution = Distribution::uniform, .seed = seed});
}

Initializer glorot_normal(Seed seed) {
  return variance_scaling({.fan = Fan::average, .seed = seed});
}

Initializer he_normal(Seed seed) { return variance_scaling({.scale = 2, .seed = seed}); }

Initializer he_uniform(Seed seed) {
  return variance_scaling({.scale = 2, .distribution = Distribution::uniform, .seed = seed});
}

}  // namespace millrace::initializers
