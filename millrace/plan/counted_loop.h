// A loop that counts: For, once it is known how far. Part of lower_forms.h.
#pragma once

#include <vector>

#include "millrace/plan/lower_forms.h"

namespace millrace {

inline constexpr size_t kCountInputs = 3;  // start, limit and delta come before what goes round

// int64 scalars outside of the loop. The count goes up from `first` by `step` while it is less than
// `end`; times `sign` it is the index that the body is given, so that one comparison does for both
// directions.
struct Count {
  Endpoint first;
  Endpoint end;
  Endpoint step;
  Endpoint sign;
  std::vector<NodeId> checks;  // fail if there is no such count; nothing enters before
};

// The loop around the caller's attribute "body".
Result<Lowered> lower_counted(Inliner& inliner, const Caller& caller, const Count& count);

}  // namespace millrace
