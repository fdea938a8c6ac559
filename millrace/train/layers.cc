#include "millrace/train/layers.h"

#include <array>
#include <span>
#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/nn.h"
#include "millrace/train/drawing.h"
#include "millrace/train/layer_parts.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

Output product(const Scope& scope, const Output& x, const Variable& kernel) {
  const PartialShape shape = shape_of(x);
  if (shape.rank() == 2) return ops::mat_mul(scope, x, kernel);
  // The other axes are rows of one matrix.
  const Output rows = ops::reshape(scope, x, Tensor::vector<int64_t>({-1, kernel.shape[0]}));
  const Output others = ops::slice(scope, ops::shape(scope, x), {0}, {shape.rank() - 1});
  const Output sizes = ops::concat_v2(
      scope, {others, Tensor::vector<int32_t>({static_cast<int32_t>(kernel.shape[1])})}, 0);
  const auto outer =
      PartialShape::create(shape.dims().subspan(0, static_cast<size_t>(shape.rank()) - 1));
  return told_shape(scope, ops::reshape(scope, ops::mat_mul(scope, rows, kernel), sizes),
                    outer.value(), std::array<int64_t, 1>{kernel.shape[1]});
}

}  // namespace

namespace layers {

Output dense(const VariableScope& scope, const Output& x, int64_t units,
             const DenseOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "dense");
  const auto features = size_of_last_axis(layer, x, 2);
  if (!features) return {};
  if (units < 0) {
    layer.scope().fail(invalid("units is ", units, " and must not be negative"), layer.name());
    return {};
  }
  const Variable kernel = layer.get_variable("kernel", {*features, units},
                                             {.dtype = x.dtype(),
                                              .initializer = options.kernel_initializer,
                                              .regularizer = options.kernel_regularizer,
                                              .is_trainable = options.is_trainable});
  if (!kernel.has_value()) return {};
  return with_bias(layer, product(layer, x, kernel), units,
                   options.use_bias ? options.bias_initializer : nullptr, options.is_trainable,
                   options.activation);
}

Output dropout(const VariableScope& scope, const Output& x, const DropoutOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "dropout");
  const Scope& inside = layer;
  if (!(options.rate >= 0 && options.rate < 1)) {
    inside.fail(invalid("rate must be in the range [0, 1), got ", options.rate), layer.name());
    return {};
  }
  if (options.phase == Phase::inference) return ops::identity(inside, x);
  if (options.rate == 0 || !is_given(inside, x, "x")) return x;
  const Scope node = inside.named("dropout");
  const Output rate = constant(node.with_name("rate"), options.rate, x.dtype());
  const Output drawn =
      uniform(node.named("random_uniform"), ops::shape(node, x), 0, 1, x.dtype(), options.seed);
  const Output is_kept = ops::cast(node, ops::greater_equal(node, drawn, rate), x.dtype());
  const Output scale = ops::real_div(node, 1.0, ops::sub(node, 1.0, rate));
  return ops::mul(node, ops::mul(node, x, scale), is_kept);
}

Output flatten(const VariableScope& scope, const Output& x) {
  const VariableScope layer = enter_layer(scope, "", "flatten");
  const PartialShape shape = shape_of(x);
  if (!is_given(layer, x, "x")) return {};
  if (!shape.has_rank() || shape.rank() == 0) {
    layer.scope().fail(invalid("inputs of shape ", shape.to_string(),
                               " can't be flattened: their rank must be known, and 1 or more"),
                       layer.name());
    return {};
  }
  if (shape.rank() == 1) return ops::expand_dims(layer, x, 1);
  int64_t features = 1;
  for (const int64_t size : shape.dims().subspan(1)) {
    // One size may stay open in what a program says; here it must be the batch's.
    if (size == kUnknownDim) {
      const Output batch = ops::slice(layer, ops::shape(layer, x), {0}, {1});
      return ops::reshape(layer, x,
                          ops::concat_v2(layer, {batch, Tensor::vector<int32_t>({-1})}, 0));
    }
    features *= size;
  }
  return ops::reshape(layer, x, Tensor::vector<int64_t>({-1, features}));
}

}  // namespace layers

Output embedding_lookup(const Scope& scope, const Variable& table, const Output& ids) {
  if (!is_given(scope, table, "the table")) return {};
  const Scope beside = scope.named("embedding_lookup").colocated_with(table.op());
  return ops::identity(beside, ops::gather_v2(beside, table, ids, 0));
}

Output embedding_lookup(const Scope& scope, const PartitionedVariable& table, const Output& ids) {
  if (table.parts.size() == 1) return embedding_lookup(scope, table.parts.front(), ids);
  const Scope inside = scope.named("embedding_lookup");
  if (!is_given(inside, ids, "ids")) return {};
  if (table.parts.empty()) {
    inside.fail(invalid("the table '", table.name, "' has no parts"), "embedding_lookup");
    return {};
  }
  const Output flat = ops::reshape(inside, ids, Tensor::vector<int32_t>({-1}));
  const auto number = static_cast<int64_t>(table.parts.size());
  const int64_t size = table.shape[0] / number, more = table.shape[0] % number;
  // The first `more` parts have a row more than the others.
  const Output owners = ops::maximum(inside, ops::floor_div(inside, flat, size + 1),
                                     ops::floor_div(inside, ops::sub(inside, flat, more), size));
  const Output places =
      ops::select(inside, ops::less(inside, owners, more), ops::floor_mod(inside, flat, size + 1),
                  ops::floor_mod(inside, ops::sub(inside, flat, more), size));
  InputList positions, found;
  for (int64_t part = 0; part < number; ++part) {
    const Variable& variable = table.parts[part];
    const Output here = ops::squeeze(inside, ops::where(inside, ops::equal(inside, owners, part)),
                                     {.squeeze_dims = std::vector<int64_t>{1}});
    positions.emplace_back(ops::cast(inside, here, DType::i32));
    const Output wanted = ops::gather_v2(inside, places, here, 0);
    found.emplace_back(ops::gather_v2(inside.colocated_with(variable.op()), variable, wanted, 0));
  }
  // Where each id's row came to stand when the parts' rows were put one behind the other.
  const Output order = ops::invert_permutation(inside, ops::concat_v2(inside, positions, 0));
  const Output rows = ops::gather_v2(inside, ops::concat_v2(inside, found, 0), order, 0);
  const std::span<const int64_t> row = table.shape.dims().subspan(1);
  const Output sizes = ops::concat_v2(
      inside,
      {ops::shape(inside, ids),
       ops::cast(inside, constant(inside, Tensor::vector<int64_t>(row)), DType::i32)},
      0);
  return told_shape(inside, ops::reshape(inside, rows, sizes), shape_of(ids), row);
}

}  // namespace millrace
