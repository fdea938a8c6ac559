// The families of ops in this room: functions of numbers, element by element or along axes.
//
// A family is a source file with its ops as values; register_math adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_math(OpRegistry& ops);

// Functions of one tensor, element by element: Neg, Exp, Sqrt, Tanh, Relu, LogicalNot, IsNan …
Status register_unary(OpRegistry& ops);

// Gradients of functions of one tensor, from what the function gave: TanhGrad, SigmoidGrad,
// SqrtGrad, RsqrtGrad, ReciprocalGrad, InvGrad.
Status register_unary_gradients(OpRegistry& ops);

// Functions that mathematics has no short formula for: Erf, Erfc, Lgamma, Digamma.
Status register_special(OpRegistry& ops);

// Arithmetic of two tensors with broadcasting: Add, Sub, Mul, RealDiv, FloorMod …; and AddN, the
// sum of many tensors of one shape.
Status register_arithmetic(OpRegistry& ops);

// Comparisons and logic of two tensors with broadcasting: Less, Equal, LogicalAnd …
Status register_comparisons(OpRegistry& ops);

// From one element type to another: Cast by value, Bitcast by bytes.
Status register_casts(OpRegistry& ops);

// Products of matrices: MatMul, BatchMatMul, BatchMatMulV2.
Status register_matmuls(OpRegistry& ops);

// Folding axes of a tensor into one value each: Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
Status register_reductions(OpRegistry& ops);

// Looking along one axis: ArgMax and ArgMin, Cumsum.
Status register_scans(OpRegistry& ops);

// Folding rows by the segment that each belongs to: UnsortedSegmentSum.
Status register_segments(OpRegistry& ops);

// Choosing by a condition: Where, Select, SelectV2.
Status register_select(OpRegistry& ops);

}  // namespace millrace
