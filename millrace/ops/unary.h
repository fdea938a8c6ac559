// Functions of one tensor, element by element: Neg, Exp, Sqrt, Tanh, Relu, LogicalNot, IsNan …
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_unary(OpRegistry& ops);

}  // namespace millrace
