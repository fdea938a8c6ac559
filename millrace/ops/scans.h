// Looking along one axis: ArgMax and ArgMin, Cumsum.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_scans(OpRegistry& ops);

}  // namespace millrace
