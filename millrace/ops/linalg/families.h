// The families of ops in this room: linear algebra beyond products of matrices.
//
// A family is a source file with its ops as values; register_linalg adds all of them. The old names
// that begin with "Batch" stand beside the ops that took their place.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_linalg(OpRegistry& ops);

// Lower triangles whose squares matrices are: Cholesky, CholeskyGrad.
Status register_choleskys(OpRegistry& ops);

// By elimination: MatrixInverse, MatrixDeterminant, LogMatrixDeterminant, MatrixSolve, Lu.
Status register_eliminations(OpRegistry& ops);

// Triangles, all of them or their bands: MatrixTriangularSolve, BandedTriangularSolve.
Status register_triangles(OpRegistry& ops);

// Three diagonals: TridiagonalMatMul, TridiagonalSolve.
Status register_tridiagonals(OpRegistry& ops);

// As near as can be: MatrixSolveLs.
Status register_least_squares(OpRegistry& ops);

// Qr.
Status register_qrs(OpRegistry& ops);

// Svd.
Status register_svds(OpRegistry& ops);

// Eigenvalues and their vectors: SelfAdjointEigV2, SelfAdjointEig, Eig.
Status register_eigens(OpRegistry& ops);

// Functions of matrices: MatrixExponential, MatrixLogarithm, MatrixSquareRoot.
Status register_matrix_functions(OpRegistry& ops);

}  // namespace millrace
