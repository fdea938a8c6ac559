// Optionals: variants that hold some tensors, or none. Conditionals of control flow v2 keep in them
// what a gradient needs of the branch that was taken.
#pragma once

#include "millrace/op/registry.h"
#include "millrace/tensor/resource_handle.h"

namespace millrace {

bool is_optional(const Variant& variant);
bool has_value(const Variant& optional);

Status register_optionals(OpRegistry& ops);

}  // namespace millrace
