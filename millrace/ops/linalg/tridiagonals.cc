// Part of families.h: register_tridiagonals.
#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

// These loops are short and ours: they compute in the type that comes.
using OwnTypes = cpu::Types<float, double, std::complex<float>, std::complex<double>>;

// --- TridiagonalMatMul ---

using ProductLoop = Status (*)(KernelContext& context, const Batch& right, Tensor& made);

template <class T>
Status product_of(KernelContext& context, const Batch& right, Tensor& made) {
  const int64_t n = right.rows, columns = right.columns;
  return each_matrix(context, right.count, 3.0 * static_cast<double>(right.elements()),
                     [&](int64_t i) -> Status {
                       const auto above = matrix_at<T>(context.input(0), i, 1, n);
                       const auto main = matrix_at<T>(context.input(1), i, 1, n);
                       const auto below = matrix_at<T>(context.input(2), i, 1, n);
                       const auto x = matrix_at<T>(context.input(3), i, n, columns);
                       auto y = matrix_at<T>(made, i, n, columns);
                       for (int64_t row = 0; row < n; ++row) {
                         y.row(row) = main(0, row) * x.row(row);
                         if (row + 1 < n) y.row(row) += above(0, row) * x.row(row + 1);
                         if (row > 0) y.row(row) += below(0, row) * x.row(row - 1);
                       }
                       return {};
                     });
}

Result<Tensor> product(KernelContext& context, ProductLoop loop) {
  MR_ASSIGN(const Batch right, batch_of(context.input(3), 3));
  MR_ASSIGN(const Shape line, right.shape({1, right.rows}));
  constexpr const char* kNames[] = {"superdiagonal", "main diagonal", "subdiagonal"};
  for (int slot = 0; slot < 3; ++slot) {
    const Shape& shape = context.input(slot).shape();
    if (shape == line) continue;
    return invalid("Invalid ", kNames[slot], " shape. It is ", shape.to_string(), ", expected ",
                   line.to_string());
  }
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(3).shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, right, made));
  return made;
}

Status infer_product(InferContext& context) {
  for (int slot = 0; slot < 4; ++slot) MR_TRY(partial_batch(context, slot));
  context.set_output(0, context.input(3));
  return {};
}

// --- TridiagonalSolve ---

struct Solving {
  bool pivots = true, perturbs = false;
};

struct BoundSolving {
  Result<Solving> read(const KernelSpec& spec) const {
    Solving made;
    MR_ASSIGN(made.pivots, spec.attrs.boolean("partial_pivoting"));
    MR_ASSIGN(made.perturbs, spec.attrs.boolean("perturb_singular"));
    if (made.perturbs && !made.pivots)
      return invalid("Setting perturb_singular requires also setting partial_pivoting.");
    return made;
  }
};

// One system of n > 0 rows. Row k of the eliminated matrix has a pivot and two elements behind it.
template <class T>
struct System {
  using Real = typename Eigen::NumTraits<T>::Real;

  Eigen::Map<const Matrix<T>> diagonals;
  Eigen::Map<Matrix<T>> x;  // begins as the right side
  Solving solving;
  int64_t n = diagonals.cols();
  std::vector<T> pivots = std::vector<T>(static_cast<size_t>(n));
  std::vector<T> seconds = std::vector<T>(static_cast<size_t>(n));
  std::vector<T> thirds = std::vector<T>(static_cast<size_t>(n));

  T above(int64_t k) const { return k + 1 < n ? diagonals(0, k) : T(0); }
  T main(int64_t k) const { return diagonals(1, k); }
  T below(int64_t k) const { return diagonals(2, k); }

  // What a pivot too small to divide by is taken for, if the node says so.
  T not_too_small(T pivot) const {
    const Real least = std::numeric_limits<Real>::min() * Real(4);
    if (!solving.perturbs || !(std::abs(pivot) < least)) return pivot;
    return pivot == T(0) ? T(least) : pivot * (least / std::abs(pivot));
  }

  void run() {
    pivots[0] = main(0);
    seconds[0] = above(0);
    for (int64_t row = 0; row + 1 < n; ++row) eliminate(row);
    const auto last = static_cast<size_t>(n - 1);
    pivots[last] = not_too_small(pivots[last]);
    // Nothing solves it: that is told in every element, as by TensorFlow.
    if (std::find(pivots.begin(), pivots.end(), T(0)) != pivots.end()) {
      x.setConstant(T(std::numeric_limits<Real>::quiet_NaN()));
      return;
    }
    for (int64_t row = n - 1; row >= 0; --row) {
      const auto k = static_cast<size_t>(row);
      if (row + 1 < n) x.row(row) -= seconds[k] * x.row(row + 1);
      if (row + 2 < n) x.row(row) -= thirds[k] * x.row(row + 2);
      x.row(row) /= pivots[k];
    }
  }

  // Row `row` is whole but for its pivot's place; makes zero of what stands below that.
  void eliminate(int64_t row) {
    const auto k = static_cast<size_t>(row);
    const T lower = below(row + 1);
    if (!solving.pivots || !(std::abs(lower) > std::abs(pivots[k]))) {
      pivots[k] = not_too_small(pivots[k]);
      const T factor = lower / pivots[k];
      pivots[k + 1] = main(row + 1) - factor * seconds[k];
      seconds[k + 1] = above(row + 1);
      x.row(row + 1) -= factor * x.row(row);
      return;
    }
    const T factor = pivots[k] / lower;
    const T second = seconds[k];
    pivots[k] = lower;
    seconds[k] = main(row + 1);
    thirds[k] = above(row + 1);
    pivots[k + 1] = second - factor * seconds[k];
    seconds[k + 1] = -factor * thirds[k];
    x.row(row).swap(x.row(row + 1));
    x.row(row + 1) -= factor * x.row(row);
  }
};

using SystemLoop = Status (*)(KernelContext& context, const Batch& right, Solving solving,
                              Tensor& made);

template <class T>
Status solution_of_bands(KernelContext& context, const Batch& right, Solving solving,
                         Tensor& made) {
  const int64_t n = right.rows, columns = right.columns;
  return each_matrix(context, right.count, 8.0 * static_cast<double>(right.elements()),
                     [&](int64_t i) -> Status {
                       auto x = matrix_at<T>(made, i, n, columns);
                       x = matrix_at<T>(context.input(1), i, n, columns);
                       System<T>{matrix_at<T>(context.input(0), i, 3, n), x, solving}.run();
                       return {};
                     });
}

Result<Tensor> solve_three(KernelContext& context, SystemLoop loop, Solving solving) {
  const Tensor &diagonals = context.input(0), &rhs = context.input(1);
  MR_ASSIGN(const Batch left, batch_of(diagonals, 0));
  MR_ASSIGN(const Batch right, batch_of(rhs, 1));
  if (left.rows != 3) {
    return invalid("Expected diagonals to be provided as a matrix with 3 rows, got ", left.rows,
                   " rows.");
  }
  if (left.leading != right.leading) {
    return invalid("All input tensors must have the same outer dimensions: they are ",
                   diagonals.shape().to_string(), " and ", rhs.shape().to_string());
  }
  if (left.columns != right.rows) {
    return invalid(
        "The length of diagonals and the number of rows of the right-hand side must be "
        "equal, but they are ",
        left.columns, " and ", right.rows);
  }
  MR_ASSIGN(Tensor made, context.allocate(0, rhs.shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, right, solving, made));
  return made;
}

Status infer_solve_three(InferContext& context) {
  MR_TRY(partial_batch(context, 0));
  MR_TRY(partial_batch(context, 1));
  context.set_output(0, context.input(1));
  return {};
}

}  // namespace

Status register_tridiagonals(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "TridiagonalMatMul",
      .doc =
          "The product of matrices of three diagonals with others. Diagonals are of shape [..., 1, "
          "n]; the last element of superdiag and the first of subdiag are not read.",
      .signature =
          "superdiag: T, maindiag: T, subdiag: T, rhs: T -> output: T | T: {double, float, "
          "complex64, complex128}",
      .infer = infer_product,
      .cpu = kernel_with(product,
                         cpu::loop_of_input<OwnTypes>([]<class T>() { return &product_of<T>; })),
      .grad = grad::tridiagonal_product,
      .examples = {"[[1 2 9]], [[3 4 5]], [[9 6 7]], [[1] [1] [1]] -> [[4] [12] [12]]"},
  }));
  return ops.add({
      .name = "TridiagonalSolve",
      .doc =
          "X with A X = B for each A of three diagonals, which are the rows of `diagonals`: above, "
          "main, below. The last element of the first and the first of the last are not read.",
      .signature = "diagonals: T, rhs: T -> output: T | partial_pivoting: bool = true, "
                   "perturb_singular: bool = false, T: {double, float, complex64, complex128}",
      .infer = infer_solve_three,
      .cpu = kernel_with(solve_three, cpu::loop_of_input<OwnTypes>([]<class T>() {
                           return &solution_of_bands<T>;
                         }),
                         BoundSolving{}),
      .grad = grad::tridiagonal_solve,
      .examples = {"[[1 2 9] [3 4 5] [9 6 7]], [[1] [1] [1]] -> [[-0.25] [1.75] [-2.25]]",
                   "[[2 9] [4 3] [9 0]], [[8 4] [3 6]] -> [[1.5 0] [1 2]] | partial_pivoting = "
                   "false"},
  });
}

}  // namespace millrace
