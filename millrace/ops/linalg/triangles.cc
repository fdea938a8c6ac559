// Part of families.h: register_triangles.
#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/linalg/pairs.h"

namespace millrace {
namespace {

struct Triangle {
  bool lower = true, adjoint = false;
};

struct BoundTriangle {
  Result<Triangle> read(const KernelSpec& spec) const {
    Triangle made;
    MR_ASSIGN(made.lower, spec.attrs.boolean("lower"));
    MR_ASSIGN(made.adjoint, spec.attrs.boolean("adjoint"));
    return made;
  }
};

// x begins as the right side of one system.
template <class T>
using SolveTriangle = Status (*)(Triangle triangle, Eigen::Map<const Matrix<T>> a,
                                 Eigen::Map<Matrix<T>> x);

// A zero on the diagonal gives infinities, as in TensorFlow.
template <class T>
Status solve_whole(Triangle triangle, Eigen::Map<const Matrix<T>> a, Eigen::Map<Matrix<T>> x) {
  if (triangle.lower && !triangle.adjoint)
    a.template triangularView<Eigen::Lower>().solveInPlace(x);
  else if (triangle.lower)
    a.adjoint().template triangularView<Eigen::Upper>().solveInPlace(x);
  else if (!triangle.adjoint)
    a.template triangularView<Eigen::Upper>().solveInPlace(x);
  else
    a.adjoint().template triangularView<Eigen::Lower>().solveInPlace(x);
  return {};
}

// Row k is the k-th diagonal below the main one; of an upper triangle the main one comes last, and
// those above it before.
template <class T>
struct Bands {
  const Eigen::Map<const Matrix<T>>& of;
  Triangle triangle;

  int64_t number() const { return of.rows(); }
  // Element (row, column) of the triangle; 0 outside of the bands. Each stands in the column of its
  // row.
  T at(int64_t row, int64_t column) const {
    const int64_t below = triangle.lower ? row - column : column - row;
    if (below < 0 || below >= number()) return T(0);
    return triangle.lower ? of(below, row) : of(number() - 1 - below, row);
  }
};

template <class T>
T conjugated(const T& x) {
  return Eigen::numext::conj(x);
}

template <class T>
Status solve_banded(Triangle triangle, Eigen::Map<const Matrix<T>> a, Eigen::Map<Matrix<T>> x) {
  const Bands<T> bands{a, triangle};
  const int64_t n = x.rows(), number = bands.number();
  const bool forward = triangle.lower != triangle.adjoint;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t row = forward ? step : n - 1 - step;
    const T pivot = bands.at(row, row);
    if (pivot == T(0)) return invalid("Input matrix is not invertible.");
    for (int64_t k = 1; k < number; ++k) {
      const int64_t known = forward ? row - k : row + k;
      if (known < 0 || known >= n) break;
      const T factor = triangle.adjoint ? conjugated(bands.at(known, row)) : bands.at(row, known);
      x.row(row) -= factor * x.row(known);
    }
    x.row(row) /= triangle.adjoint ? conjugated(pivot) : pivot;
  }
  return {};
}

using TriangleLoop = Status (*)(KernelContext& context, const Pairs& pairs, Triangle triangle,
                                const Tensor& a, const Tensor& b, Tensor& made);

template <class T, SolveTriangle<T> solve>
Status each_triangle(KernelContext& context, const Pairs& pairs, Triangle triangle, const Tensor& a,
                     const Tensor& b, Tensor& made) {
  const int64_t n = pairs.b.rows, columns = pairs.b.columns;
  const double cost = static_cast<double>(pairs.a.elements()) * static_cast<double>(columns);
  return each_matrix(context, pairs.count, cost, [&](int64_t i) -> Status {
    auto x = matrix_at<T>(made, i, n, columns);
    x = matrix_at<T>(b, pairs.of_b(i), n, columns);
    return solve(triangle, matrix_at<T>(a, pairs.of_a(i), pairs.a.rows, pairs.a.columns), x);
  });
}

Status solve_triangles(KernelContext& context, TriangleLoop loop, Triangle triangle) {
  MR_ASSIGN(const Batch batch, square_batch_of(context.input(0), 0));
  MR_ASSIGN(const Pairs pairs, Pairs::of(context.input(0), context.input(1)));
  if (pairs.b.rows != batch.rows) {
    return invalid("In[0] mismatch In[1] shape: ", batch.rows, " vs. ", pairs.b.rows, ": ",
                   context.input(0).shape().to_string(), " ", context.input(1).shape().to_string());
  }
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(const Tensor b, wide_input(context, 1));
  MR_ASSIGN(const Shape shape, pairs.shape(pairs.b.rows, pairs.b.columns));
  MR_ASSIGN(Tensor made, Tensor::allocate(b.dtype(), shape));
  if (made.num_elements() > 0) MR_TRY(loop(context, pairs, triangle, a, b, made));
  return give(context, 0, made);
}

Status solve_bands(KernelContext& context, TriangleLoop loop, Triangle triangle) {
  MR_ASSIGN(const Pairs pairs, Pairs::of(context.input(0), context.input(1)));
  if (pairs.a.columns != pairs.b.rows) {
    return invalid("In[0] mismatch In[1] shape: ", pairs.a.columns, " vs. ", pairs.b.rows, ": ",
                   context.input(0).shape().to_string(), " ", context.input(1).shape().to_string());
  }
  for (const int slot : {0, 1}) {
    if (context.input(slot).num_elements() == 0)
      return invalid("In[", slot,
                     "] must not be an empty tensor: ", context.input(slot).shape().to_string());
  }
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  MR_ASSIGN(const Tensor b, wide_input(context, 1));
  MR_ASSIGN(const Shape shape, pairs.shape(pairs.b.rows, pairs.b.columns));
  MR_ASSIGN(Tensor made, Tensor::allocate(b.dtype(), shape));
  if (made.num_elements() > 0) MR_TRY(loop(context, pairs, triangle, a, b, made));
  return give(context, 0, made);
}

// Output 0 has the batches that both broadcast to, and the rows and columns of input 1.
Status infer_pairs(InferContext& context, const PartialBatch& a, int64_t a_rows) {
  MR_ASSIGN(const PartialBatch b, partial_batch(context, 1));
  if (!a.has_rank || !b.has_rank) {
    context.set_output(0, PartialShape::unknown());
    return {};
  }
  if (a_rows != kUnknownDim && b.rows != kUnknownDim && a_rows != b.rows) {
    return invalid("Dimensions must be equal, but are ", a_rows, " and ", b.rows,
                   ": the matrix and the right side have not as many rows");
  }
  MR_ASSIGN(const PartialShape of_a, PartialShape::create(a.leading));
  MR_ASSIGN(const PartialShape of_b, PartialShape::create(b.leading));
  MR_ASSIGN(const PartialShape leading, broadcast_shapes(of_a, of_b));
  std::vector<int64_t> dims(leading.dims().begin(), leading.dims().end());
  dims.insert(dims.end(), {b.rows == kUnknownDim ? a_rows : b.rows, b.columns});
  return context.set_output(0, PartialShape::create(dims));
}

Status infer_triangles(InferContext& context) {
  MR_ASSIGN(const PartialBatch a, partial_square_batch(context, 0));
  return infer_pairs(context, a, a.rows);
}
Status infer_bands(InferContext& context) {
  MR_ASSIGN(const PartialBatch a, partial_batch(context, 0));
  return infer_pairs(context, a, a.columns);
}

Status add_triangular(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "X with A X = B, or A^H X = B, where each A is a triangle; what stands on its other "
             "side is not read. Batches broadcast.",
      .signature =
          "matrix: T, rhs: T -> output: T | lower: bool = true, adjoint: bool = false, T: " + types,
      .infer = infer_triangles,
      .cpu = kernel_with(solve_triangles, wide_loop([]<class T>() -> TriangleLoop {
                           return &each_triangle<T, &solve_whole<T>>;
                         }),
                         BoundTriangle{}),
      .grad = grad::triangular_solve,
      .cost = Cost::heavy,
      .examples = {"[[4 0] [2 1]], [[8] [5]] -> [[2] [1]]",
                   "[[[4 2] [0 1]]], [[8] [1]] -> [[[1.5] [1]]] | lower = false",
                   "[[4 0] [2 1]], [[8] [5]] -> [[-0.5] [5]] | adjoint = true"},
  });
}

}  // namespace

Status register_triangles(OpRegistry& ops) {
  MR_TRY(add_triangular(ops, "MatrixTriangularSolve",
                        "{bfloat16, double, float, half, complex64, complex128}"));
  MR_TRY(add_triangular(ops, "BatchMatrixTriangularSolve", "{double, float}"));
  return ops.add({
      .name = "BandedTriangularSolve",
      .doc =
          "X with A X = B, or A^H X = B, where each triangle A is given by its diagonals: the main "
          "one first and those below it, or those above it and the main one last. Diagonals are "
          "padded on the left if lower, else on the right.",
      .signature = "matrix: T, rhs: T -> output: T | lower: bool = true, adjoint: bool = false, T: "
                   "{double, float, half, complex64, complex128}",
      .infer = infer_bands,
      .cpu = kernel_with(solve_bands, wide_loop([]<class T>() -> TriangleLoop {
                           return &each_triangle<T, &solve_banded<T>>;
                         }),
                         BoundTriangle{}),
      .grad = grad::banded_solve,
      .cost = Cost::heavy,
      .examples = {"[[1 2] [9 3]], [[1] [1]] -> [[1] [-1]]",
                   "[[1 9] [2 4]], [[6] [4]] -> [[2.5] [1]] | lower = false"},
  });
}

}  // namespace millrace
