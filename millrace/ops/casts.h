// From one element type to another: Cast by value, Bitcast by bytes.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_casts(OpRegistry& ops);

}  // namespace millrace
