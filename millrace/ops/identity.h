// Values that come from nowhere or pass unchanged: Const, the placeholders, Identity and its kin.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_identity(OpRegistry& ops);

}  // namespace millrace
