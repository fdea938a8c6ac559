// Part of families.h: register_sparse_products.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

template <class T>
T conjugate(T x) {
  if constexpr (cpu::kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// out[m, :] += a * b[k, :] for every element a at [m, k], both turned around if they are adjoint.
// Sums of narrow floats are kept as floats.
struct SidesOfProduct {
  bool adjoint_a = false, adjoint_b = false;
};

template <class T>
Status add_products(const SparseInput& a, const Tensor& b, SidesOfProduct sides, Tensor& sums,
                    CancelProbe& probe) {
  using M = cpu::Math<T>;
  const int64_t columns = sums.shape().dim(1), b_columns = b.shape().dim(1);
  const auto values = a.values.flat<T>();
  const T* const all = b.flat<T>().data();
  M* const out = sums.mutable_flat<M>().data();
  for (int64_t i = 0; i < a.number; ++i) {
    const int64_t m = a.place(i)[sides.adjoint_a ? 1 : 0], k = a.place(i)[sides.adjoint_a ? 0 : 1];
    M value = static_cast<M>(values[static_cast<size_t>(i)]);
    if (sides.adjoint_a) value = conjugate(value);
    M* const row = out + m * columns;
    if (sides.adjoint_b) {
      for (int64_t n = 0; n < columns; ++n) {
        row[n] = cpu::add(row[n],
                          cpu::multiply(value, conjugate(static_cast<M>(all[n * b_columns + k]))));
      }
    } else {
      const T* const from = all + k * b_columns;
      for (int64_t n = 0; n < columns; ++n)
        row[n] = cpu::add(row[n], cpu::multiply(value, static_cast<M>(from[n])));
    }
    if (!probe.go_on(columns)) return probe.status();
  }
  return {};
}

template <class T>
Result<Tensor> product_of(const SparseInput& a, const Tensor& b, SidesOfProduct sides,
                          const Shape& shape, CancelProbe probe) {
  using M = cpu::Math<T>;
  MR_ASSIGN(Tensor sums, Tensor::zeros(dtype_of<M>, shape));
  MR_TRY(add_products<T>(a, b, sides, sums, probe));
  if constexpr (std::is_same_v<T, M>) return sums;
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, shape));
  std::ranges::transform(sums.flat<M>(), made.mutable_flat<T>().begin(),
                         [](M x) { return static_cast<T>(x); });
  return made;
}

// In TensorFlow's words, which tell rows of what is multiplied (m) from its columns (k).
Status check_elements(const SparseInput& a, bool adjoint) {
  const size_t row = adjoint ? 1 : 0;
  for (int64_t i = 0; i < a.number; ++i) {
    for (const size_t axis : {1 - row, row}) {
      const int64_t at = a.place(i)[axis];
      if (at >= 0 && at < a.dims[axis]) continue;
      return invalid(axis == row ? "m (" : "k (", at, ") from index[", i, ",", axis,
                     "] out of bounds (>=", a.dims[axis], "): indices[", i,
                     "] must be in a_shape [", a.dims[0], ",", a.dims[1], "]");
    }
  }
  return {};
}

using SparseProduct = Result<Tensor> (*)(const SparseInput&, const Tensor&, SidesOfProduct,
                                         const Shape&, CancelProbe);

Result<Tensor> sparse_matmul(KernelContext& context, SparseProduct product, bool adjoint_a,
                             bool adjoint_b) {
  const Tensor& b = context.input(3);
  if (b.shape().rank() != 2)
    return invalid("Tensor 'b' is not a matrix: its shape is ", b.shape().to_string());
  if (context.input(2).num_elements() != 2) {
    return invalid("Tensor 'a_shape' must have 2 elements, got ", context.input(2).num_elements());
  }
  MR_ASSIGN(const SparseInput a, read_sparse(context, 0, Places::anywhere));
  MR_TRY(check_elements(a, adjoint_a));
  const int64_t inner = a.dims[adjoint_a ? 0 : 1], b_inner = b.shape().dim(adjoint_b ? 1 : 0);
  if (inner != b_inner) {
    return invalid("Cannot multiply A and B because inner dimension does not match: ", inner,
                   " vs. ", b_inner, ".  Did you forget a transpose?  Dimensions of A: [",
                   a.dims[0], ", ", a.dims[1], ").  Dimensions of B: ", b.shape().to_string());
  }
  const std::array<int64_t, 2> dims = {a.dims[adjoint_a ? 1 : 0], b.shape().dim(adjoint_b ? 0 : 1)};
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return product(a, b, {adjoint_a, adjoint_b}, shape, CancelProbe(context));
}

Status infer_sparse_matmul(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const PartialShape b, context.input_of_rank(3, 2));
  MR_ASSIGN(const bool adjoint_a, context.attrs().boolean("adjoint_a"));
  MR_ASSIGN(const bool adjoint_b, context.attrs().boolean("adjoint_b"));
  MR_ASSIGN(const auto dims, constant_integers(context, 2, "a_shape"));
  if (dims && dims->size() != 2)
    return invalid("Tensor 'a_shape' must have 2 elements, got ", dims->size());
  const int64_t columns = b.has_rank() ? b.dim(adjoint_b ? 0 : 1) : kUnknownDim;
  const int64_t inner = b.has_rank() ? b.dim(adjoint_b ? 1 : 0) : kUnknownDim;
  if (dims && inner != kUnknownDim && (*dims)[adjoint_a ? 0 : 1] != inner) {
    return invalid("Cannot multiply A and B because inner dimension does not match: ",
                   (*dims)[adjoint_a ? 0 : 1], " vs. ", inner);
  }
  const int64_t rows = dims ? (*dims)[adjoint_a ? 1 : 0] : kUnknownDim;
  return context.set_output(0, PartialShape::create(std::array<int64_t, 2>{rows, columns}));
}

}  // namespace

Status register_sparse_products(OpRegistry& ops) {
  return ops.add({
      .name = "SparseTensorDenseMatMul",
      .doc = "The product of a sparse matrix and a dense one; an adjoint one is transposed, and "
             "conjugate if it is complex.",
      .signature = "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T | "
                   "T: type, Tindices: {int32, int64} = int64, adjoint_a: bool = false, "
                   "adjoint_b: bool = false",
      .infer = infer_sparse_matmul,
      .cpu = kernel_with(sparse_matmul,
                         cpu::loop_of_output<cpu::Number>([]<class T>() { return &product_of<T>; }),
                         boolean("adjoint_a"), boolean("adjoint_b")),
      .grad = grad::sparse_matmul,
      .cost = Cost::heavy,
      .examples = {("[[0 1] [1 0] [1 2]], [2 3 4], [2 3], [[1 2] [3 4] [5 6]] -> "
                    "[[6 8] [23 30]] | T = float"),
                   ("[[0 1] [1 0]], [2 3], [2 3], [[1 2] [3 4]] -> [[9 12] [2 4] [0 0]] | "
                    "T = float, adjoint_a = true"),
                   ("[[0 1]], [2], [2 3], [[1 2 3] [4 5 6]] -> [[4 10] [0 0]] | T = int32, "
                    "adjoint_b = true"),
                   "[[0 0]], [2], [1 1], [[3]] -> [[6]] | T = half",
                   ("[[0 1] [1 0]], [2 3], [2 3], [[1 3] [2 4]] -> [[9 12] [2 4] [0 0]] | "
                    "T = complex64, adjoint_a = true, adjoint_b = true")},
  });
}

}  // namespace millrace
