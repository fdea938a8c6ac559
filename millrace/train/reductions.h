// Sums and means over all axes, which losses and what is reported of them are made of.
#pragma once

#include "millrace/api/input.h"

namespace millrace {

// Scalars. Also where the rank is not known before it runs.
Output reduce_sum(const Scope& scope, const Output& values);
Output reduce_mean(const Scope& scope, const Output& values);
// The share of rows of `logits` whose largest is at the label: float.
Output accuracy(const Scope& scope, const Output& labels, const Output& logits);

}  // namespace millrace
