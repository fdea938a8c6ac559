// Strings: joining, splitting, measuring, to numbers and back.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_strings(OpRegistry& ops);

}  // namespace millrace
