// Choosing by a condition: Where, Select, SelectV2.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_select(OpRegistry& ops);

}  // namespace millrace
