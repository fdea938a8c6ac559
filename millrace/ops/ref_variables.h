// Variables of TensorFlow 1: their tensors flow along reference edges. Assign and its kin always
// take the variable's lock, whatever use_locking says: without it, two updates may only lose each
// other's result, but in C++ they would race on memory.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_ref_variables(OpRegistry& ops);

}  // namespace millrace
