// Places for nodes that rules of names ask for: what Scope's own words don't say.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/api/scope.h"

namespace millrace {

// `scope` with names inside of exactly this full name scope, which somebody has claimed.
Scope within(const Scope& scope, std::string name_scope);
// `scope` outside of conditionals, loops and control dependencies: what is made there runs by
// itself.
Scope lifted(const Scope& scope);
// A full name inside of `scope` for one's own: `name`, or name_1, name_2 …
std::string claim_inside(const Scope& scope, std::string_view name);
// Adds a node under a full name that has been claimed.
Operation add_claimed(const Scope& scope, std::string full_name, std::string_view op,
                      std::vector<Output> inputs, Attrs attrs);
// True for a value; else false, and an error that `what` is none is kept.
bool is_given(const Scope& scope, const Output& value, std::string_view what);
// The values in another type, by a Cast where theirs is not that; no value for none.
Output as_type(const Scope& scope, const Output& values, DType dtype);
// The shape of an output as far as it is known; unknown for no value.
PartialShape shape_of(const Output& output);
// The output, with more told of its shape than its op could know: `first` axes, then `last` ones.
Output told_shape(const Scope& scope, const Output& output, const PartialShape& first,
                  std::span<const int64_t> last);
// The device that was asked for; "" for none.
std::string device_of(const Operation& operation);
// A node, called `claimed_name`, that is done when all of these are: one on each of their devices,
// so that the last one waits for few.
Operation group(const Scope& scope, std::span<const Operation> operations,
                std::string claimed_name);

}  // namespace millrace
