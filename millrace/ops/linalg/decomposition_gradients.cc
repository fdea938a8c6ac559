// Part of gradients.h: of what takes matrices apart.
#include <algorithm>

#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/linalg/terms.h"

namespace millrace::grad {
namespace {

struct Sizes {
  int64_t rows, columns;
};

// Of the matrices of an endpoint. Errors: UNIMPLEMENTED if one is unknown.
Result<Sizes> known_sizes(GradContext& g, Endpoint of) {
  const PartialShape shape = g.shape(of);
  if (shape.has_rank() && shape.rank() >= 2) {
    const Sizes made{shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1)};
    if (made.rows != kUnknownDim && made.columns != kUnknownDim) return made;
  }
  return unimplemented(g.attrs().op().name,
                       " gradient has not been implemented for input with unknown inner matrix "
                       "shape: set the shape of its input");
}

}  // namespace

Status cholesky(GradContext& g) {
  Terms terms(g);
  const Endpoint l = g.output(0);
  Endpoint middle = terms.adjoint_times(l, g.grad());
  middle = terms.lower(terms.with_diagonal(middle, terms.scaled(terms.diagonal_of(middle), 0.5)));
  const auto solved = [&](Endpoint rhs) {
    return g.add("MatrixTriangularSolve", {l, rhs}, {{"adjoint", true}});
  };
  const Endpoint made = terms.adjoint(solved(terms.adjoint(solved(middle))));
  g.set_input_grad(0, terms.scaled(terms.add(made, terms.adjoint(made)), 0.5));
  return {};
}

namespace {

// Where Q is as wide as it is high, or R as high as it is wide.
Endpoint by_deep(Terms& terms, Endpoint q, Endpoint r, Endpoint dq, Endpoint dr) {
  const Endpoint qdq = terms.adjoint_times(q, dq), rdr = terms.times_adjoint(r, dr);
  const Endpoint of_q = terms.subtract(qdq, terms.adjoint(qdq));
  const Endpoint of_r = terms.subtract(rdr, terms.adjoint(rdr));
  const Endpoint triangle = terms.lower(terms.add(of_q, of_r));
  const Endpoint along = terms.product(q, terms.add(dr, terms.over_adjoint(triangle, r)));
  const Endpoint across = terms.over_adjoint(terms.subtract(dq, terms.product(q, qdq)), r);
  Endpoint made = terms.add(along, across);
  if (!terms.is_complex(q)) return made;
  const Endpoint m = terms.subtract(rdr, terms.adjoint(qdq));
  const Endpoint eye = terms.with_diagonal(terms.zeros_like(m), terms.diagonal_of(m));
  const Endpoint correction = terms.adjoint(terms.subtract(eye, terms.real_part(eye)));
  return terms.add(made, terms.product(q, terms.over_adjoint(correction, r)));
}

}  // namespace

Status qr(GradContext& g) {
  MR_ASSIGN(const bool full, g.attrs().boolean("full_matrices"));
  MR_ASSIGN(const Sizes sizes, known_sizes(g, g.input(0)));
  const int64_t rows = sizes.rows, columns = sizes.columns;
  if (full && rows > columns)
    return unimplemented("QrGrad not implemented when nrows > ncols and full_matrices is true.");
  Terms terms(g);
  const Endpoint q = g.output(0), r = g.output(1), dq = g.grad(0), dr = g.grad(1);
  if (rows >= columns) {
    g.set_input_grad(0, by_deep(terms, q, r, dq, dr));
    return {};
  }
  const Endpoint wide = terms.columns(g.input(0), rows, 0);
  const Endpoint r_square = terms.columns(r, 0, rows);
  const Endpoint dr_wide = terms.columns(dr, rows, 0), dr_square = terms.columns(dr, 0, rows);
  const Endpoint more = terms.add(dq, terms.times_adjoint(wide, dr_wide));
  g.set_input_grad(
      0, terms.joined(by_deep(terms, q, r_square, more, dr_square), terms.product(q, dr_wide), -1));
  return {};
}

namespace {

// What arrives at a decomposition of matrices not higher than they are wide.
struct SvdSide {
  Endpoint s, u, v, by_s, by_u, by_v;
  int64_t rows, columns;
};

Endpoint by_wide(GradContext& g, Terms& terms, const SvdSide& at, bool full) {
  const Endpoint v1 = terms.columns(at.v, 0, at.rows), by_v1 = terms.columns(at.by_v, 0, at.rows);
  const Endpoint f = terms.gaps(terms.scaled(at.s, at.s));
  const Endpoint of_s = terms.diagonal(at.s);
  const Endpoint v_gv = terms.adjoint_times(v1, by_v1);
  const Endpoint f_u = terms.scaled(f, terms.adjoint_times(at.u, at.by_u));
  const Endpoint f_v = terms.scaled(f, v_gv);
  const auto both = [&](Endpoint a) { return terms.add(a, terms.adjoint(a)); };
  const Endpoint inner =
      terms.add(terms.diagonal(at.by_s),
                terms.add(terms.product(both(f_u), of_s), terms.product(of_s, both(f_v))));
  Endpoint made = terms.product(at.u, terms.times_adjoint(inner, v1));
  const Endpoint over_s = terms.diagonal(terms.reciprocal(at.s));
  if (at.rows != at.columns) {
    const Endpoint turned = terms.adjoint(by_v1);
    Endpoint outside = terms.subtract(turned, terms.times_adjoint(terms.product(turned, v1), v1));
    if (full) {
      const Endpoint v2 = terms.columns(at.v, at.rows, at.columns);
      const Endpoint by_v2 = terms.columns(at.by_v, at.rows, at.columns);
      outside = terms.subtract(outside, terms.times_adjoint(terms.adjoint_times(v1, by_v2), v2));
    }
    made = terms.add(made, terms.product(terms.product(at.u, over_s), outside));
  }
  if (!terms.is_complex(at.u)) return made;
  const Endpoint l = terms.diagonal(terms.diagonal_of(v_gv));
  const Endpoint turning = terms.product(over_s, terms.subtract(terms.conjugate(l), l));
  const Endpoint third = terms.product(at.u, terms.times_adjoint(turning, v1));
  return terms.add(made, g.add("Mul", {third, g.scalar(g.dtype(third), 0.5)}));
}

}  // namespace

Status svd(GradContext& g) {
  MR_ASSIGN(const bool vectors, g.attrs().boolean("compute_uv"));
  MR_ASSIGN(const bool full, g.attrs().boolean("full_matrices"));
  Terms terms(g);
  if (!vectors) {
    const Endpoint by_s = g.grad(0);
    const Endpoint s = g.add("Svd", {g.input(0)});
    const Endpoint u{s.node, 1}, v{s.node, 2};
    g.set_input_grad(0, terms.product(u, terms.times_adjoint(terms.diagonal(by_s), v)));
    return {};
  }
  MR_ASSIGN(const Sizes sizes, known_sizes(g, g.input(0)));
  SvdSide at{g.output(0), g.output(1), g.output(2), g.grad(0),
             g.grad(1),   g.grad(2),   sizes.rows,  sizes.columns};
  const bool is_high = at.rows > at.columns;
  if (full && std::abs(at.rows - at.columns) > 1) {
    return unimplemented(
        "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True");
  }
  if (is_high) {
    std::swap(at.rows, at.columns);
    std::swap(at.u, at.v);
    std::swap(at.by_u, at.by_v);
  }
  const Endpoint made = by_wide(g, terms, at, full);
  g.set_input_grad(0, is_high ? terms.adjoint(made) : made);
  return {};
}

Status self_adjoint_eigen(GradContext& g) {
  MR_ASSIGN(const bool vectors, g.attrs().boolean("compute_v"));
  Terms terms(g);
  Endpoint inner = terms.diagonal(g.grad(0));
  Endpoint v = g.output(1);
  if (vectors) {
    inner =
        terms.add(inner, terms.scaled(terms.gaps(g.output(0)), terms.adjoint_times(v, g.grad(1))));
  } else {
    v = Endpoint{g.add("SelfAdjointEigV2", {g.input(0)}).node, 1};
  }
  g.set_input_grad(0, terms.folded(terms.product(v, terms.times_adjoint(inner, v))));
  return {};
}

Status eigen(GradContext& g) {
  MR_ASSIGN(const bool vectors, g.attrs().boolean("compute_v"));
  Terms terms(g);
  const DType in = g.dtype(g.input(0)), out = g.dtype(g.output(0));
  Endpoint inner = terms.diagonal(g.grad(0));
  Endpoint v = g.output(1);
  if (!vectors) v = Endpoint{g.add("Eig", {g.input(0)}, {{"Tout", out}}).node, 1};
  const Endpoint turned = terms.adjoint(v);
  if (vectors) {
    const Endpoint gaps = terms.conjugate(terms.gaps(g.output(0)));
    const Endpoint moved = terms.product(turned, g.grad(1));
    const Endpoint lengths = terms.diagonal(terms.diagonal_of(terms.real_part(moved)));
    const Endpoint rest = terms.subtract(moved, terms.product(terms.product(turned, v), lengths));
    inner = terms.add(inner, terms.scaled(gaps, rest));
  }
  const Endpoint made = g.add("MatrixSolve", {turned, terms.product(inner, turned)});
  g.set_input_grad(0, in == out ? made : g.add("Cast", {made}, {{"DstT", in}}));
  return {};
}

}  // namespace millrace::grad
