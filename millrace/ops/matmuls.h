// Products of matrices: MatMul, BatchMatMul, BatchMatMulV2.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_matmuls(OpRegistry& ops);

}  // namespace millrace
