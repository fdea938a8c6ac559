#include "millrace/train/reductions.h"

#include <numeric>
#include <vector>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/tensor/tensor.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

Input all_axes(const Scope& scope, const Output& values) {
  const PartialShape shape = shape_of(values);
  if (!shape.has_rank()) {
    const Output rank(scope.add("Rank", {values}, {}), 0);
    return ops::range(scope, 0, rank, 1);
  }
  std::vector<int32_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return Tensor::vector<int32_t>(axes);
}

}  // namespace

Output reduce_sum(const Scope& scope, const Output& values) {
  return ops::sum(scope, values, all_axes(scope, values));
}

Output reduce_mean(const Scope& scope, const Output& values) {
  return ops::mean(scope, values, all_axes(scope, values));
}

Output accuracy(const Scope& scope, const Output& labels, const Output& logits) {
  const Output best = ops::arg_max(scope, logits, -1, {.output_type = labels.dtype()});
  return reduce_mean(scope, ops::cast(scope, ops::equal(scope, best, labels), DType::f32));
}

}  // namespace millrace
