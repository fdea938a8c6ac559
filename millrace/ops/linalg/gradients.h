// The gradients of the ops of this room, by the formulas that TensorFlow uses. Each stands in the
// `.grad` of its op. They are made of ops for batches of matrices, so that they have gradients too.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

Status cholesky(GradContext& g);
Status matrix_inverse(GradContext& g);
Status matrix_solve(GradContext& g);
Status determinant(GradContext& g);
Status log_determinant(GradContext& g);
Status triangular_solve(GradContext& g);
Status banded_solve(GradContext& g);
Status tridiagonal_product(GradContext& g);
Status tridiagonal_solve(GradContext& g);
Status least_squares(GradContext& g);
// Of any function of matrices that is analytic.
Status matrix_function(GradContext& g);
// Where singular values, or eigenvalues, are equal, those of the vectors have no meaning.
Status qr(GradContext& g);
Status svd(GradContext& g);
Status self_adjoint_eigen(GradContext& g);
Status eigen(GradContext& g);

}  // namespace millrace::grad
