#include "millrace/train/drawing.h"

#include <vector>

#include "millrace/api/ops/math.h"
#include "millrace/api/ops/random.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What an op's own seed goes with where the graph has none, as in TensorFlow.
constexpr int64_t kDefaultGraphSeed = 87654321;

Input sizes_of(const Shape& shape) {
  // As a tensor: an empty literal would have no type.
  std::vector<int32_t> small;
  for (const int64_t size : shape.dims()) {
    if (!std::in_range<int32_t>(size)) return Tensor::vector<int64_t>(shape.dims());
    small.push_back(static_cast<int32_t>(size));
  }
  return Tensor::vector<int32_t>(small);
}

std::pair<int64_t, int64_t> op_seeds(std::optional<int64_t> seed) {
  if (!seed) return {0, 0};
  constexpr int64_t kRange = int64_t{1} << 31;
  return {kDefaultGraphSeed, (*seed % kRange + kRange) % kRange};
}

Output uniform(const Scope& scope, const Input& sizes, double from, double to, DType dtype,
               std::optional<int64_t> seed) {
  const Output low = constant(scope, from, dtype);
  const Output high = constant(scope, to, dtype);
  const auto [first, second] = op_seeds(seed);
  const Output drawn = ops::random_uniform(scope, sizes, dtype, {.seed = first, .seed2 = second});
  return ops::add(scope, ops::mul(scope, drawn, ops::sub(scope, high, low)), low);
}

}  // namespace millrace
