// Part of families.h: register_tridiagonals.
#include "millrace/ops/linalg/eigen.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/linalg/tridiagonal_system.h"
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

struct BoundSolving {
  Result<TridiagonalSolving> read(const KernelSpec& spec) const {
    TridiagonalSolving made;
    MR_ASSIGN(made.pivots, spec.attrs.boolean("partial_pivoting"));
    MR_ASSIGN(made.perturbs, spec.attrs.boolean("perturb_singular"));
    if (made.perturbs && !made.pivots)
      return invalid("Setting perturb_singular requires also setting partial_pivoting.");
    return made;
  }
};

using SystemLoop = Status (*)(KernelContext& context, const Batch& right,
                              TridiagonalSolving solving, Tensor& made);

template <class T>
Status solution_of_bands(KernelContext& context, const Batch& right, TridiagonalSolving solving,
                         Tensor& made) {
  const int64_t n = right.rows, columns = right.columns;
  return each_matrix(
      context, right.count, 8.0 * static_cast<double>(right.elements()), [&](int64_t i) -> Status {
        auto x = matrix_at<T>(made, i, n, columns);
        x = matrix_at<T>(context.input(1), i, n, columns);
        TridiagonalSystem<T>{matrix_at<T>(context.input(0), i, 3, n), x, solving}.run();
        return {};
      });
}

Result<Tensor> solve_three(KernelContext& context, SystemLoop loop, TridiagonalSolving solving) {
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
