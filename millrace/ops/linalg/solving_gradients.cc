// Part of gradients.h: of inverses, of what solves, and of functions of matrices.
#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/linalg/terms.h"
#include "millrace/ops/loops/broadcast_gradient.h"

namespace millrace::grad {
namespace {

// A number per matrix, beside its elements.
Endpoint per_matrix(Terms& terms, Endpoint a) { return terms.expanded(terms.expanded(a, -1), -1); }

Endpoint adjoint_inverse(GradContext& g, Endpoint a) {
  return g.add("MatrixInverse", {a}, {{"adjoint", true}});
}

// What moves A in A X = B, or in A^H X = B, from what moves B.
Endpoint by_matrix(Terms& terms, bool adjoint, Endpoint by_rhs, Endpoint x) {
  return terms.negative(adjoint ? terms.times_adjoint(x, by_rhs) : terms.times_adjoint(by_rhs, x));
}

}  // namespace

Status matrix_inverse(GradContext& g) {
  MR_ASSIGN(const bool adjoint, g.attrs().boolean("adjoint"));
  Terms terms(g);
  const Endpoint inverse = g.output(0);
  const Endpoint right = terms.multiply(g.grad(), adjoint, inverse, !adjoint);
  g.set_input_grad(0, terms.negative(terms.multiply(inverse, !adjoint, right, false)));
  return {};
}

Status matrix_solve(GradContext& g) {
  MR_ASSIGN(const bool adjoint, g.attrs().boolean("adjoint"));
  Terms terms(g);
  const Endpoint by_rhs = g.add("MatrixSolve", {g.input(0), g.grad()}, {{"adjoint", !adjoint}});
  if (g.is_needed(0)) g.set_input_grad(0, by_matrix(terms, adjoint, by_rhs, g.output(0)));
  g.set_input_grad(1, by_rhs);
  return {};
}

Status determinant(GradContext& g) {
  Terms terms(g);
  const Endpoint weight = terms.scaled(g.grad(), terms.conjugate(g.output(0)));
  g.set_input_grad(0, terms.scaled(per_matrix(terms, weight), adjoint_inverse(g, g.input(0))));
  return {};
}

// The sign moves nothing.
Status log_determinant(GradContext& g) {
  Terms terms(g);
  g.set_input_grad(0, terms.scaled(per_matrix(terms, g.grad(1)), adjoint_inverse(g, g.input(0))));
  return {};
}

Status triangular_solve(GradContext& g) {
  MR_ASSIGN(const bool adjoint, g.attrs().boolean("adjoint"));
  MR_ASSIGN(const bool lower, g.attrs().boolean("lower"));
  Terms terms(g);
  const Endpoint by_rhs = g.add("MatrixTriangularSolve", {g.input(0), g.grad()},
                                {{"lower", lower}, {"adjoint", !adjoint}});
  BroadcastGradient batches(g, g.input(0), g.input(1), 2);
  if (g.is_needed(0)) {
    const Endpoint whole = by_matrix(terms, adjoint, by_rhs, g.output(0));
    g.set_input_grad(0, batches.to_a(lower ? terms.lower(whole) : terms.upper(whole)));
  }
  if (g.is_needed(1)) g.set_input_grad(1, batches.to_b(by_rhs));
  return {};
}

Status banded_solve(GradContext& g) {
  MR_ASSIGN(const bool adjoint, g.attrs().boolean("adjoint"));
  MR_ASSIGN(const bool lower, g.attrs().boolean("lower"));
  Terms terms(g);
  const Endpoint by_rhs = g.add("BandedTriangularSolve", {g.input(0), g.grad()},
                                {{"lower", lower}, {"adjoint", !adjoint}});
  BroadcastGradient batches(g, g.input(0), g.input(1), 2);
  if (g.is_needed(0)) {
    const Endpoint whole = by_matrix(terms, adjoint, by_rhs, g.output(0));
    const Endpoint bands =
        g.add("StridedSlice",
              {g.add("Shape", {g.input(0)}), g.vector({-2}), g.vector({-1}), g.vector({1})},
              {{"shrink_axis_mask", int64_t{1}}});
    const Endpoint none = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
    const Endpoint last = g.add("Sub", {bands, one}), first = g.add("Sub", {one, bands});
    const Endpoint range = lower ? g.add("Pack", {first, none}, {{"N", int64_t{2}}})
                                 : g.add("Pack", {none, last}, {{"N", int64_t{2}}});
    const Endpoint part = g.add("MatrixDiagPartV3", {whole, range, g.scalar(g.dtype(whole), 0)},
                                {{"align", "LEFT_RIGHT"}});
    // One band alone comes without an axis for bands.
    const auto part_of_shape = [&](Endpoint of, int64_t begin, int64_t end, const char* mask) {
      return g.add("StridedSlice",
                   {g.add("Shape", {of}), g.vector({begin}), g.vector({end}), g.vector({1})},
                   {{mask, int64_t{1}}});
    };
    const Endpoint shape = g.add("ConcatV2",
                                 {part_of_shape(whole, 0, -2, "begin_mask"),
                                  part_of_shape(g.input(0), -2, 0, "end_mask"), none},
                                 {{"N", int64_t{2}}});
    g.set_input_grad(0, batches.to_a(g.add("Reshape", {part, shape})));
  }
  if (g.is_needed(1)) g.set_input_grad(1, batches.to_b(by_rhs));
  return {};
}

Status tridiagonal_product(GradContext& g) {
  Terms terms(g);
  const Endpoint arriving = g.grad(), x = terms.conjugate(g.input(3));
  // Rows moved up or down by one, 0 where there is none.
  const auto edge = [&](Endpoint of) { return terms.zeros_like(terms.rows(of, 0, 1)); };
  const auto up = [&](Endpoint of) { return terms.joined(terms.rows(of, 1, 0), edge(of), -2); };
  const auto down = [&](Endpoint of) { return terms.joined(edge(of), terms.rows(of, 0, -1), -2); };
  const auto line = [&](Endpoint rows) {
    return terms.expanded(terms.summed(terms.scaled(rows, arriving), -1), -2);
  };
  if (g.is_needed(0)) g.set_input_grad(0, line(up(x)));
  if (g.is_needed(1)) g.set_input_grad(1, line(x));
  if (g.is_needed(2)) g.set_input_grad(2, line(down(x)));
  if (!g.is_needed(3)) return {};
  const auto weighed = [&](int slot) {
    return terms.scaled(terms.adjoint(g.input(slot)), arriving);
  };
  g.set_input_grad(3, terms.add(terms.add(down(weighed(0)), weighed(1)), up(weighed(2))));
  return {};
}

Status tridiagonal_solve(GradContext& g) {
  Terms terms(g);
  Attrs attrs;
  for (const char* name : {"partial_pivoting", "perturb_singular"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  const Endpoint diagonals = g.input(0), x = terms.conjugate(g.output(0));
  // The adjoint has its diagonals the other way round, each moved by one.
  const Endpoint conjugate = terms.conjugate(diagonals);
  const Endpoint above = terms.rows(conjugate, 0, 1), below = terms.rows(conjugate, 2, 0);
  const Endpoint none = terms.zeros_like(terms.columns(above, 0, 1));
  const Endpoint turned =
      terms.joined(terms.joined(terms.joined(terms.columns(below, 1, 0), none, -1),
                                terms.rows(conjugate, 1, 2), -2),
                   terms.joined(none, terms.columns(above, 0, -1), -1), -2);
  const Endpoint by_rhs = g.add("TridiagonalSolve", {turned, g.grad()}, attrs);
  if (g.is_needed(0)) {
    const Endpoint edge = terms.zeros_like(terms.rows(x, 0, 1));
    const auto line = [&](Endpoint rows) {
      return terms.expanded(terms.summed(terms.scaled(by_rhs, rows), -1), -2);
    };
    const Endpoint up = terms.joined(terms.rows(x, 1, 0), edge, -2);
    const Endpoint down = terms.joined(edge, terms.rows(x, 0, -1), -2);
    g.set_input_grad(
        0, terms.negative(terms.joined(terms.joined(line(up), line(x), -2), line(down), -2)));
  }
  g.set_input_grad(1, by_rhs);
  return {};
}

namespace {

// L with L L^H = A^H A + l2, or A A^H + l2.
Endpoint gramian_root(GradContext& g, Terms& terms, bool is_tall) {
  const Endpoint a = g.input(0);
  const Endpoint gramian = is_tall ? terms.adjoint_times(a, a) : terms.times_adjoint(a, a);
  const Endpoint more = g.add("Cast", {g.input(2)}, {{"DstT", g.dtype(a)}});
  return g.add("Cholesky",
               {terms.with_diagonal(gramian, terms.add(terms.diagonal_of(gramian), more))});
}

Endpoint solved(GradContext& g, Endpoint root, Endpoint b) {
  const Endpoint half = g.add("MatrixTriangularSolve", {root, b});
  return g.add("MatrixTriangularSolve", {root, half}, {{"adjoint", true}});
}

}  // namespace

Status least_squares(GradContext& g) {
  MR_ASSIGN(const bool fast, g.attrs().boolean("fast"));
  if (!fast) return invalid("Gradient not defined for fast=False");
  const PartialShape shape = g.shape(g.input(0));
  const bool is_known = shape.has_rank() && shape.dim(shape.rank() - 2) != kUnknownDim &&
                        shape.dim(shape.rank() - 1) != kUnknownDim;
  if (!is_known) {
    return unimplemented(
        "the gradient of MatrixSolveLs for matrices of unknown size; set their shape");
  }
  const bool is_tall = shape.dim(shape.rank() - 2) >= shape.dim(shape.rank() - 1);
  Terms terms(g);
  const Endpoint a = g.input(0), b = g.input(1), x = g.output(0), arriving = g.grad();
  const Endpoint root = gramian_root(g, terms, is_tall);
  if (is_tall) {
    const Endpoint z = solved(g, root, arriving), xz = terms.times_adjoint(x, z);
    const Endpoint both = terms.add(xz, terms.adjoint(xz));
    g.set_input_grad(0, terms.subtract(terms.times_adjoint(b, z), terms.product(a, both)));
    g.set_input_grad(1, terms.product(a, z));
    return {};
  }
  const Endpoint by_rhs = solved(g, root, terms.product(a, arriving));
  const Endpoint y = solved(g, root, b);
  const Endpoint first = terms.product(by_rhs, terms.adjoint_times(y, a));
  const Endpoint rest = terms.subtract(arriving, terms.adjoint_times(a, by_rhs));
  g.set_input_grad(0, terms.subtract(terms.times_adjoint(y, rest), first));
  g.set_input_grad(1, by_rhs);
  return {};
}

// f([[B, G], [0, B]]) has at its upper right how f moves at B if B moves by G; with B = A^H that is
// the gradient by A.
Status matrix_function(GradContext& g) {
  const std::string op = g.attrs().op().name;
  Terms terms(g);
  const Endpoint adjoint = terms.adjoint(g.input(0)), arriving = g.grad();
  const Endpoint both = terms.joined(terms.joined(adjoint, arriving, -1),
                                     terms.joined(terms.zeros_like(adjoint), adjoint, -1), -2);
  const Endpoint made = g.add(op, {both});
  // The quarter is cut by sizes that may be unknown until the step runs.
  const Endpoint shape = g.shape_node(g.input(0));
  const Endpoint last = g.vector({-1}), none = g.vector({0}), one = g.vector({1});
  const Endpoint n = g.add("StridedSlice", {shape, last, none, one}, {{"end_mask", int64_t{1}}});
  const auto pair = [&](Endpoint a, Endpoint b) {
    return g.add("ConcatV2", {a, b, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
  };
  const auto triple = [&](Endpoint a, Endpoint b, Endpoint c) { return pair(pair(a, b), c); };
  const Endpoint quarter = g.add(
      "StridedSlice", {made, triple(none, none, n), triple(none, n, none), g.vector({1, 1, 1})},
      {{"ellipsis_mask", int64_t{1}}, {"end_mask", int64_t{4}}});
  g.set_input_grad(0, g.add("Reshape", {quarter, shape}));
  return {};
}

}  // namespace millrace::grad
