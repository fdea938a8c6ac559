// What layers are made of; not for programs.
#pragma once

#include <optional>
#include <string_view>

#include "millrace/train/layers.h"

namespace millrace {

// The scope of a layer's nodes and variables: its name, or an unused one after its kind.
VariableScope enter_layer(const VariableScope& scope, std::string_view name, std::string_view kind);
// The number of features; none, after an error, if it isn't known, or the rank is below `min_rank`.
std::optional<int64_t> size_of_last_axis(const VariableScope& layer, const Output& x, int min_rank);
// activation(x + bias); no initializer for no bias.
Output with_bias(const VariableScope& layer, const Output& x, int64_t units,
                 const Initializer& initializer, bool is_trainable, const Activation& activation);

}  // namespace millrace
