#include "millrace/train/all_reduce.h"

#include <algorithm>
#include <map>
#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/collective.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

// A gradient as a vector of all its elements.
Output all_elements(const Scope& scope, const GradientAndVariable& pair) {
  const auto& [gradient, variable] = pair;
  Output dense = gradient.values;
  if (gradient.is_slices())
    dense = ops::unsorted_segment_sum(scope, gradient.values, gradient.indices,
                                      constant(scope, variable.shape[0], DType::i64));
  return ops::reshape(scope, dense, {-1});
}

// What a broadcast takes: of types that it doesn't, one that holds all their values.
DType travelling(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return DType::f32;
    case DType::i8:
    case DType::i16:
    case DType::u8:
    case DType::u16:
      return DType::i32;
    default:
      return dtype;
  }
}

Output in_type(const Scope& scope, const Output& value, DType dtype) {
  return value.dtype() == dtype ? value : ops::cast(scope, value, dtype);
}

}  // namespace

AllReduceOptimizer::AllReduceOptimizer(Optimizer& wrapped, AllReduceOptions options)
    : WrappedOptimizer(wrapped, options.name), options_(std::move(options)) {}

Operation AllReduceOptimizer::apply_gradients(const VariableScope& scope,
                                              const std::vector<GradientAndVariable>& pairs,
                                              ApplyGradientsOptions options) {
  return wrapped().apply_gradients(scope, means(scope, pairs), std::move(options));
}

std::vector<GradientAndVariable> AllReduceOptimizer::means(
    const VariableScope& scope, const std::vector<GradientAndVariable>& pairs) {
  std::vector<GradientAndVariable> reduced = pairs;
  const Scope inside = scope.scope().named(name());
  if (options_.num_replicas < 1)
    inside.fail(invalid("num_replicas must be positive, but is ", options_.num_replicas), name());
  if (!inside.status().ok()) return reduced;
  std::map<DType, std::pair<std::vector<size_t>, int64_t>> open;
  // The last layers' gradients are there first.
  for (size_t which = pairs.size(); which-- > 0;) {
    if (!pairs[which].gradient.has_value()) continue;
    const Variable& variable = pairs[which].variable;
    const int64_t bytes =
        variable.shape.num_elements() * static_cast<int64_t>(dtype_size(variable.dtype()));
    auto& [bucket, filled] = open[variable.dtype()];
    if (!bucket.empty() && filled + bytes > options_.bucket_bytes) {
      reduce(inside, std::exchange(bucket, {}), reduced);
      filled = 0;
    }
    bucket.push_back(which);
    filled += bytes;
  }
  for (const auto& [dtype, last] : open) reduce(inside, last.first, reduced);
  return reduced;
}

void AllReduceOptimizer::reduce(const Scope& scope, const std::vector<size_t>& bucket,
                                std::vector<GradientAndVariable>& pairs) {
  InputList flat;
  std::vector<int64_t> sizes;
  for (const size_t which : bucket) {
    const Variable& variable = pairs[which].variable;
    flat.emplace_back(all_elements(scope.colocated_with(variable.op()), pairs[which]));
    sizes.push_back(variable.shape.num_elements());
  }
  if (!scope.status().ok()) return;
  const Output joined = flat.size() == 1 ? *flat[0].output() : ops::concat_v2(scope, flat, 0);
  const Output whole =
      ops::collective_reduce(scope, joined, "Add", "Div", options_.num_replicas, options_.group_key,
                             ++last_instance_, {0}, {.timeout_seconds = options_.timeout_seconds});
  const std::vector<Output> parts = ops::split_v(scope, whole, Tensor::vector<int64_t>(sizes), 0,
                                                 static_cast<int64_t>(sizes.size()));
  if (parts.size() != bucket.size()) return;  // after an error
  for (size_t i = 0; i < bucket.size(); ++i) {
    const Shape& shape = pairs[bucket[i]].variable.shape;
    pairs[bucket[i]].gradient = {
        .values = ops::reshape(scope, parts[i], Tensor::vector<int64_t>(shape.dims()))};
  }
}

Operation AllReduceOptimizer::equal_variables(const VariableScope& scope, bool is_chief) {
  const Scope& place = scope;
  if (!place.status().ok()) return {};
  std::vector<Variable> variables = scope.collections().global_variables;
  std::ranges::sort(variables, {}, &Variable::name);
  const std::string own = claim_inside(place, "equal_variables");
  const Scope inside = within(place, own);
  std::vector<Operation> updates;
  for (const Variable& variable : variables) {
    if (options_.num_replicas == 1 || !inside.status().ok()) break;
    const Scope beside = inside.colocated_with(variable.op());
    const DType dtype = travelling(variable.dtype());
    const int64_t instance = ++last_instance_;
    if (is_chief) {
      updates.push_back(ops::collective_bcast_send(beside, in_type(beside, variable, dtype),
                                                   options_.num_replicas, options_.group_key,
                                                   instance, variable.shape,
                                                   {.timeout_seconds = options_.timeout_seconds})
                            .op());
      continue;
    }
    const Output value = ops::collective_bcast_recv(beside, dtype, options_.num_replicas,
                                                    options_.group_key, instance, variable.shape,
                                                    {.timeout_seconds = options_.timeout_seconds});
    if (!value.has_value()) return {};
    updates.push_back(
        ops::assign(beside, variable.reference, in_type(beside, value, variable.dtype())).op());
  }
  if (!inside.status().ok()) return {};
  return group(place, updates, own);
}

}  // namespace millrace
