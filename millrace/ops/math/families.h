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

// Angles and hyperbolic functions: Acos, Asin, Atan, Sinh, Cosh, Asinh, Acosh, Atanh.
Status register_trigonometry(OpRegistry& ops);

// Functions that mathematics has no short formula for: Erf, Erfc, Erfinv, Ndtri, Lgamma, Digamma;
// Xdivy, Xlogy, Xlog1py; NextAfter.
Status register_special(OpRegistry& ops);

// Functions around gamma: Igamma, Igammac, Zeta, Polygamma, Betainc, and what their gradients take.
Status register_gammas(OpRegistry& ops);

// Bessel functions: I, J, K and Y of orders 0 and 1.
Status register_bessels(OpRegistry& ops);

// Functions that are integrals: Dawsn, Expint, FresnelCos, FresnelSin, Spence.
Status register_integrals(OpRegistry& ops);

// What looks away: MulNoNan from what is no number, ApproximateEqual from a small distance.
Status register_tolerant(OpRegistry& ops);

// Complex numbers and their parts: Conj, Real, Imag, Angle, Complex, ComplexAbs.
Status register_complexes(OpRegistry& ops);

// Bits of whole numbers: BitwiseAnd, BitwiseOr, BitwiseXor, Invert, shifts, PopulationCount.
Status register_bits(OpRegistry& ops);

// ClipByValue, Cross.
Status register_clipping(OpRegistry& ops);

// Arithmetic of two tensors with broadcasting: Add, Sub, Mul, RealDiv, FloorMod …; and AddN, the
// sum of many tensors of one shape.
Status register_arithmetic(OpRegistry& ops);

// Comparisons and logic of two tensors with broadcasting: Less, Equal, LogicalAnd …
Status register_comparisons(OpRegistry& ops);

// From one element type to another: Cast by value, Bitcast by bytes.
Status register_casts(OpRegistry& ops);

// Products of matrices: MatMul, BatchMatMul and its later versions, SparseMatMul.
Status register_matmuls(OpRegistry& ops);

// A product with what follows it: _FusedMatMul.
Status register_fused_matmuls(OpRegistry& ops);

// Folding axes of a tensor into one value each: Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
Status register_reductions(OpRegistry& ops);

// Looking along one axis: ArgMax and ArgMin, Cumsum, Cumprod, CumulativeLogsumexp.
Status register_scans(OpRegistry& ops);

// Folding rows by the segment that each belongs to: SegmentSum, UnsortedSegmentSum and their kin.
Status register_segments(OpRegistry& ops);

// The same of picked rows: SparseSegmentSum, Mean and SqrtN.
Status register_sparse_segments(OpRegistry& ops);

// Counting: Bincount, DenseBincount, DenseCountSparseOutput, Bucketize, HistogramFixedWidth.
Status register_counts(OpRegistry& ops);

// Rounding to few bits: FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients.
Status register_fake_quants(OpRegistry& ops);

// QuantizeAndDequantize and its later versions.
Status register_quantize(OpRegistry& ops);

// Floats as numbers of quantized types, and back: QuantizeV2, Dequantize.
Status register_quantizations(OpRegistry& ops);

// Quantized numbers in other ranges: Requantize, RequantizationRange, QuantizeDownAndShrinkRange.
Status register_requantizations(OpRegistry& ops);

// What k-means begins with, and looks for: KmeansPlusPlusInitialization, KMC2ChainInitialization,
// NearestNeighbors.
Status register_clusters(OpRegistry& ops);

// Even points in a cube: SobolSample.
Status register_sobol(OpRegistry& ops);

// Rows that never rise: IsotonicRegression.
Status register_isotonic(OpRegistry& ops);

// Sums of products along axes that letters name: Einsum.
Status register_einsum(OpRegistry& ops);

// Choosing by a condition: Where, Select, SelectV2.
Status register_select(OpRegistry& ops);

}  // namespace millrace
