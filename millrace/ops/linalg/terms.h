// How the gradients of this room write down formulas: batches of matrices, added, multiplied,
// turned, and parts of them. Ranks need not be known.
#pragma once

#include "millrace/op/gradient.h"

namespace millrace::grad {

class Terms {
 public:
  explicit Terms(GradContext& g) : g_(g) {}

  // a b, or with an operand's adjoint.
  Endpoint product(Endpoint a, Endpoint b) { return multiply(a, false, b, false); }
  Endpoint adjoint_times(Endpoint a, Endpoint b) { return multiply(a, true, b, false); }
  Endpoint times_adjoint(Endpoint a, Endpoint b) { return multiply(a, false, b, true); }
  Endpoint multiply(Endpoint a, bool a_adjoint, Endpoint b, bool b_adjoint);

  Endpoint add(Endpoint a, Endpoint b) { return g_.add("AddV2", {a, b}); }
  Endpoint subtract(Endpoint a, Endpoint b) { return g_.add("Sub", {a, b}); }
  // Element by element.
  Endpoint scaled(Endpoint a, Endpoint b) { return g_.add("Mul", {a, b}); }
  Endpoint scaled(Endpoint a, double by) { return scaled(a, g_.scalar(g_.dtype(a), by)); }
  Endpoint negative(Endpoint a) { return g_.add("Neg", {a}); }

  bool is_complex(Endpoint a) const;
  Endpoint conjugate(Endpoint a) { return is_complex(a) ? g_.add("Conj", {a}) : a; }
  // Complex numbers without their imaginary parts, still complex.
  Endpoint real_part(Endpoint a);
  Endpoint transposed(Endpoint a);
  Endpoint adjoint(Endpoint a) { return transposed(conjugate(a)); }

  // Of vectors.
  Endpoint diagonal(Endpoint of) { return g_.add("MatrixDiag", {of}); }
  // Of matrices.
  Endpoint diagonal_of(Endpoint a) { return g_.add("MatrixDiagPart", {a}); }
  Endpoint with_diagonal(Endpoint a, Endpoint diagonal) {
    return g_.add("MatrixSetDiag", {a, diagonal});
  }
  Endpoint lower(Endpoint a) { return band(a, -1, 0); }
  Endpoint upper(Endpoint a) { return band(a, 0, -1); }
  // The lower triangle of a + a^H with the diagonal of a: what moves a matrix of which only the
  // lower triangle is read.
  Endpoint folded(Endpoint a);

  // The elements [begin, end) along the last axis, or the one before it; `end` 0 for the last.
  Endpoint columns(Endpoint a, int64_t begin, int64_t end);
  Endpoint rows(Endpoint a, int64_t begin, int64_t end);
  // As a matrix, or with another axis at place `axis`.
  Endpoint expanded(Endpoint a, int axis) {
    return g_.add("ExpandDims", {a, g_.scalar(DType::i32, axis)});
  }
  Endpoint summed(Endpoint a, int axis) { return g_.add("Sum", {a, g_.scalar(DType::i32, axis)}); }
  Endpoint joined(Endpoint a, Endpoint b, int axis);
  Endpoint zeros_like(Endpoint a) { return g_.add("ZerosLike", {a}); }

  // x / (x^2 + a little): 1/x where that is large, and 0 at 0.
  Endpoint reciprocal(Endpoint x);
  // 1 / (e_j - e_i) for each pair of a row of numbers, 0 on the diagonal.
  Endpoint gaps(Endpoint e);
  // x r^-H, where r is an upper triangle.
  Endpoint over_adjoint(Endpoint x, Endpoint r);

 private:
  Endpoint band(Endpoint a, int below, int above);
  Endpoint slice(Endpoint a, int64_t begin, int64_t end, bool along_rows);

  GradContext& g_;
};

}  // namespace millrace::grad
