// Which ops make what other programs of a cluster find by its name: variables, queues, and what
// sums gradients up. Placement asks: such things are worth sharing only where all look for them.
#pragma once

#include <string_view>

#include "millrace/op/durable.h"

namespace millrace {

// Not what walks through data (readers, iterators) or is filled by each program for itself
// (tables): those may have a shared name, too, but are best beside who uses them.
inline bool is_found_by_name(std::string_view op) {
  return can_be_durable(op) || op.ends_with("ConditionalAccumulator");
}

}  // namespace millrace
