// What generated op functions (ops.h) are made of.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/api/input.h"
#include "millrace/api/scope.h"

namespace millrace {

// Calls op `op` with inputs that may be literals: finds the type of each literal from the op's
// signature and its other inputs. One entry of `args` per argument of the op; a list argument has
// any number of inputs.
Operation call_op(const Scope& scope, std::string_view op, std::vector<InputList> args,
                  Attrs attrs);

// The value, or the values, of output argument `arg` of a node; without a value if there is no
// node.
Output output_of(const Operation& op, int arg);
std::vector<Output> outputs_of(const Operation& op, int arg);

// Sets an attribute that was given.
template <class T>
void set_attr(Attrs& attrs, std::string_view name, const std::optional<T>& value) {
  if (value) attrs.set(name, *value);
}

}  // namespace millrace
