// Looking at values in passing: Assert, Print, CheckNumerics.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_checks(OpRegistry& ops);

}  // namespace millrace
