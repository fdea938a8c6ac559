#include "millrace/ops/image/filters.h"

#include <cmath>
#include <numbers>
#include <string>

#include "absl/strings/ascii.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// A sine over its angle, cut off by a wider one.
float lanczos(float x, float radius) {
  constexpr auto kPi = std::numbers::pi_v<float>;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

// Three deviations to the edge.
float gaussian(float x, float radius) {
  const float deviation = radius / 3;
  if (x >= radius) return 0;
  return static_cast<float>(std::exp(-x * x / (2.0 * deviation * deviation)));
}

float box(float x, float) { return x < 0.5f ? 1.f : x == 0.5f ? 0.5f : 0.f; }

float triangle(float x, float) { return x < 1 ? 1 - x : 0.f; }

// Keys, "Cubic convolution interpolation for digital image processing" (1981).
float keys_cubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return (1.5f * x - 2.5f) * x * x + 1;
}

// Mitchell and Netravali, "Reconstruction filters in computer graphics" (1988), B = C = 1/3.
float mitchell_cubic(float x, float) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-7.f / 18 * x + 2) * x - 10.f / 3) * x + 16.f / 9;
  return (7.f / 6 * x - 2) * x * x + 8.f / 9;
}

}  // namespace

Result<ScalingFilter> filter_of(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(to_absl(name));
  if (lower == "lanczos1") return ScalingFilter{lanczos, 1};
  if (lower == "lanczos3") return ScalingFilter{lanczos, 3};
  if (lower == "lanczos5") return ScalingFilter{lanczos, 5};
  if (lower == "gaussian") return ScalingFilter{gaussian, 1.5f};
  if (lower == "box") return ScalingFilter{box, 1};
  if (lower == "triangle") return ScalingFilter{triangle, 1};
  if (lower == "keyscubic") return ScalingFilter{keys_cubic, 2};
  if (lower == "mitchellcubic") return ScalingFilter{mitchell_cubic, 2};
  return invalid("Unrecognized kernel type: ", name,
                 "; there are lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic "
                 "and mitchellcubic");
}

}  // namespace millrace
