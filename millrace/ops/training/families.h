// The families of ops in this room: what optimizers do to variables, given a gradient. Each comes
// for reference variables (ApplyMomentum) and resource variables (ResourceApplyMomentum), many also
// for gradients of some rows only (SparseApplyMomentum, ResourceSparseApplyMomentum).
//
// A family is a source file with its rules as values; register_training adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_training(OpRegistry& ops);

// One rate for all elements: GradientDescent, Momentum, KerasMomentum, ProximalGradientDescent,
// AddSign, PowerSign.
Status register_descents(OpRegistry& ops);

// A rate for each element, from sums of squares: Adagrad, AdagradV2, AdagradDA, ProximalAdagrad,
// Ftrl, FtrlV2.
Status register_accumulating(OpRegistry& ops);

// A rate for each element, from running means of squares: RMSProp, CenteredRMSProp, Adadelta, Adam,
// AdamWithAmsgrad, AdaMax.
Status register_averaging(OpRegistry& ops);

}  // namespace millrace
