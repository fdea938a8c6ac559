// Initial values of variables: functions of a shape and a type that add the nodes which draw them.
//
//   scope.get_variable("w", {784, 10}, {.initializer = initializers::truncated_normal(0, 0.1)})
//
// The formulas, and the numbers that a seed gives, are those of the Python front-end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "millrace/api/scope.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct InitialValue {
  Shape shape = {};
  DType dtype = DType::f32;
  // Of the whole variable, where `shape` is that of a part: a part is spread as the whole would be.
  Shape whole = {};
};

// Adds nodes in the scope that is given; none for a variable's default.
using Initializer = std::function<Output(const Scope&, const InitialValue&)>;

namespace initializers {

enum class Fan : uint8_t { in, out, average };
enum class Distribution : uint8_t { uniform, normal, truncated_normal };

// Without a seed, other numbers in each run.
using Seed = std::optional<int64_t>;

struct VarianceScalingOptions {
  double scale = 1.0;  // positive
  Fan fan = Fan::in;   // what the variance is divided by
  Distribution distribution = Distribution::truncated_normal;
  Seed seed = std::nullopt;
};

Initializer zeros();
Initializer ones();
// One number everywhere.
Initializer constant(double value);
// This value, whose shape and type must be the variable's.
Initializer value(Tensor tensor);
Initializer random_uniform(double from, double to, Seed seed = std::nullopt);
Initializer random_normal(double mean = 0, double deviation = 1, Seed seed = std::nullopt);
// Those beyond two deviations are drawn again.
Initializer truncated_normal(double mean = 0, double deviation = 1, Seed seed = std::nullopt);
Initializer variance_scaling(VarianceScalingOptions options = {});
// What get_variable takes if nothing is said.
Initializer glorot_uniform(Seed seed = std::nullopt);
Initializer glorot_normal(Seed seed = std::nullopt);
Initializer he_normal(Seed seed = std::nullopt);
Initializer he_uniform(Seed seed = std::nullopt);

}  // namespace initializers
}  // namespace millrace
