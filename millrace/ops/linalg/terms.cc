#include "millrace/ops/linalg/terms.h"

namespace millrace::grad {

Endpoint Terms::multiply(Endpoint a, bool a_adjoint, Endpoint b, bool b_adjoint) {
  return g_.add("BatchMatMulV2", {a, b}, {{"adj_x", a_adjoint}, {"adj_y", b_adjoint}});
}

bool Terms::is_complex(Endpoint a) const { return millrace::is_complex(g_.dtype(a)); }

Endpoint Terms::real_part(Endpoint a) {
  if (!is_complex(a)) return a;
  const DType dtype = g_.dtype(a), part = dtype == DType::c128 ? DType::f64 : DType::f32;
  return g_.add("Cast", {g_.add("Real", {a}, {{"Tout", part}})}, {{"DstT", dtype}});
}

Endpoint Terms::transposed(Endpoint a) {
  return g_.add("Einsum", {a}, {{"equation", "...ij->...ji"}, {"N", int64_t{1}}});
}

Endpoint Terms::band(Endpoint a, int below, int above) {
  return g_.add("MatrixBandPart", {a, g_.scalar(DType::i64, below), g_.scalar(DType::i64, above)});
}

Endpoint Terms::folded(Endpoint a) {
  const Endpoint made = lower(add(a, adjoint(a)));
  return with_diagonal(made, scaled(diagonal_of(made), 0.5));
}

Endpoint Terms::slice(Endpoint a, int64_t begin, int64_t end, bool along_rows) {
  const int64_t masked = end == 0 ? 2 : 0;
  Attrs attrs = {{"ellipsis_mask", int64_t{1}},
                 {"begin_mask", along_rows ? int64_t{4} : int64_t{0}},
                 {"end_mask", masked | (along_rows ? int64_t{4} : int64_t{0})}};
  if (along_rows)
    return g_.add("StridedSlice",
                  {a, g_.vector({0, begin, 0}), g_.vector({0, end, 0}), g_.vector({1, 1, 1})},
                  attrs);
  return g_.add("StridedSlice", {a, g_.vector({0, begin}), g_.vector({0, end}), g_.vector({1, 1})},
                attrs);
}

Endpoint Terms::columns(Endpoint a, int64_t begin, int64_t end) {
  return slice(a, begin, end, false);
}
Endpoint Terms::rows(Endpoint a, int64_t begin, int64_t end) { return slice(a, begin, end, true); }

Endpoint Terms::joined(Endpoint a, Endpoint b, int axis) {
  return g_.add("ConcatV2", {a, b, g_.scalar(DType::i32, axis)}, {{"N", int64_t{2}}});
}

Endpoint Terms::reciprocal(Endpoint x) {
  const Endpoint square = add(scaled(x, x), g_.scalar(g_.dtype(x), 1e-20));
  return scaled(x, g_.add("Reciprocal", {square}));
}

Endpoint Terms::gaps(Endpoint e) {
  const Endpoint differences = subtract(expanded(e, -2), expanded(e, -1));
  return with_diagonal(reciprocal(differences), zeros_like(e));
}

Endpoint Terms::over_adjoint(Endpoint x, Endpoint r) {
  return adjoint(g_.add("MatrixTriangularSolve", {r, adjoint(x)}, {{"lower", false}}));
}

}  // namespace millrace::grad
