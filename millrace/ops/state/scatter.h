// Scattering: params[indices[i…], …] = op(params[indices[i…], …], updates[i…, …]).
#pragma once

#include "millrace/base/result.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Checks that `updates` (of the shape of indices followed by a row's, or a scalar) fits, then
// writes into `params`, whose buffer is made its own first. A null loop replaces. Nothing is
// written if anything is wrong. Needs the lock that guards `params`.
Status scatter(Tensor& params, const Tensor& indices, const Tensor& updates, cpu::BinaryLoop loop);

}  // namespace millrace
