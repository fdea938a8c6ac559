#include "millrace/train/layer_parts.h"

#include "millrace/api/ops/nn.h"
#include "millrace/train/node_scopes.h"

namespace millrace {

VariableScope enter_layer(const VariableScope& scope, std::string_view name,
                          std::string_view kind) {
  return name.empty() ? scope.enter_unused(kind) : scope.enter(name);
}

std::optional<int64_t> size_of_last_axis(const VariableScope& layer, const Output& x,
                                         int min_rank) {
  if (!is_given(layer, x, "x")) return std::nullopt;
  const PartialShape shape = shape_of(x);
  const bool fits = shape.has_rank() && shape.rank() >= min_rank;
  if (fits && shape.dim(shape.rank() - 1) != kUnknownDim) return shape.dim(shape.rank() - 1);
  layer.scope().fail(invalid("inputs have shape ", shape.to_string(), "; a rank of ", min_rank,
                             " or more and the size of the last axis must be known"),
                     layer.name());
  return std::nullopt;
}

Output with_bias(const VariableScope& layer, const Output& x, int64_t units,
                 const Initializer& initializer, bool is_trainable, const Activation& activation) {
  Output made = x;
  if (initializer) {
    const Variable bias = layer.get_variable(
        "bias", {units},
        {.dtype = x.dtype(), .initializer = initializer, .is_trainable = is_trainable});
    if (!bias.has_value()) return {};
    made = ops::bias_add(layer, made, bias);
  }
  return activation ? activation(layer, made) : made;
}

}  // namespace millrace
