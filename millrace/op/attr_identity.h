// When attributes are the same to the last bit, which is more than being equal: 0.0 and -0.0 are
// different constants, and NaN is one that is itself. Whoever lets one value stand for another asks
// here.
#pragma once

#include <cstddef>

#include "millrace/op/attrs.h"

namespace millrace {

// Attributes that are identical have the same hash; tensors are hashed whole.
size_t hash_of(const Attrs& attrs);
bool are_identical(const Attrs& a, const Attrs& b);

// False for attributes that hold what is too rare to be worth an exact comparison: functions, their
// arguments, and lists of tensors. `are_identical` may deny that two such are the same.
bool can_be_identical(const Attrs& attrs);

}  // namespace millrace
