// Part of families.h: register_sparse_reductions.
#include <cmath>
#include <numeric>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// Runs of elements that agree along the axes that stay.
struct SparseGroups {
  std::vector<int> kept;       // the axes that stay, in order
  std::vector<int64_t> order;  // of all elements, group by group
  std::vector<size_t> ends;    // of each group, in `order`
};

SparseGroups grouped(const SparseInput& in, std::vector<int> kept) {
  SparseGroups made;
  std::vector<int> axes = kept;
  for (int axis = 0; axis < static_cast<int>(in.rank); ++axis) {
    if (std::ranges::find(kept, axis) == kept.end()) axes.push_back(axis);
  }
  made.order = order_by(in.indices, axes);
  made.kept = std::move(kept);
  for (size_t i = 1; i < made.order.size(); ++i) {
    const auto before = in.place(made.order[i - 1]), here = in.place(made.order[i]);
    const bool is_same = std::ranges::all_of(made.kept, [&](int axis) {
      return before[static_cast<size_t>(axis)] == here[static_cast<size_t>(axis)];
    });
    if (!is_same) made.ends.push_back(i);
  }
  if (!made.order.empty()) made.ends.push_back(made.order.size());
  return made;
}

// Folds the values that are named into out[to].
using FoldGroup = void (*)(const Tensor& values, std::span<const int64_t> rows, Tensor& out,
                           int64_t to);

template <class T>
void sum_group(const Tensor& values, std::span<const int64_t> rows, Tensor& out, int64_t to) {
  using M = cpu::Math<T>;
  const auto all = values.flat<T>();
  M total = M(0);
  for (const int64_t row : rows)
    total = cpu::add(total, static_cast<M>(all[static_cast<size_t>(row)]));
  out.mutable_flat<T>()[static_cast<size_t>(to)] = static_cast<T>(total);
}

template <class T>
void largest_of_group(const Tensor& values, std::span<const int64_t> rows, Tensor& out,
                      int64_t to) {
  using M = cpu::Math<T>;
  const auto all = values.flat<T>();
  T best = all[static_cast<size_t>(rows[0])];
  for (const int64_t row : rows) {
    const T value = all[static_cast<size_t>(row)];
    if (static_cast<M>(best) < static_cast<M>(value)) best = value;
  }
  out.mutable_flat<T>()[static_cast<size_t>(to)] = best;
}

struct SparseReduction {
  SparseInput in;
  SparseGroups groups;
  std::vector<int64_t> dims;  // of the result

  std::span<const int64_t> rows(size_t group) const {
    const size_t begin = group == 0 ? 0 : groups.ends[group - 1];
    return std::span(groups.order).subspan(begin, groups.ends[group] - begin);
  }
};

Result<SparseReduction> read_sparse_reduction(KernelContext& context, bool keep_dims) {
  SparseReduction made;
  MR_ASSIGN(made.in, read_sparse(context, 0, Places::inside));
  MR_TRY(Shape::create(made.in.dims).status());
  const Tensor& reduced = context.input(3);
  if (reduced.shape().rank() > 1) {
    return invalid("Expected reduction_axes to be a scalar or a vector; got shape: ",
                   reduced.shape().to_string());
  }
  const auto rank = static_cast<int64_t>(made.in.rank);
  MR_ASSIGN(const std::vector<int64_t> axes, read_elements(reduced, "reduction_axes"));
  std::vector<bool> is_reduced(made.in.rank, false);
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return invalid("Invalid reduction dimension ", axis, ", for input with ", rank,
                     " dimensions.");
    }
    is_reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  std::vector<int> kept;
  for (size_t axis = 0; axis < made.in.rank; ++axis) {
    if (!is_reduced[axis]) kept.push_back(static_cast<int>(axis));
    if (!is_reduced[axis] || keep_dims)
      made.dims.push_back(is_reduced[axis] ? 1 : made.in.dims[axis]);
  }
  made.groups = grouped(made.in, std::move(kept));
  return made;
}

Result<Tensor> reduce_to_dense(KernelContext& context, FoldGroup fold, bool keep_dims) {
  MR_ASSIGN(const SparseReduction all, read_sparse_reduction(context, keep_dims));
  MR_ASSIGN(const Shape shape, Shape::create(all.dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(all.in.values.dtype(), shape));
  CancelProbe probe(context);
  for (size_t group = 0; group < all.groups.ends.size(); ++group) {
    const auto rows = all.rows(group);
    int64_t at = 0;
    for (const int axis : all.groups.kept) {
      const auto index = static_cast<size_t>(axis);
      at = at * all.in.dims[index] + all.in.place(rows[0])[index];
    }
    fold(all.in.values, rows, made, at);
    if (!probe.go_on(static_cast<int64_t>(rows.size()))) return probe.status();
  }
  return made;
}

Status reduce_to_sparse(KernelContext& context, FoldGroup fold, bool keep_dims) {
  MR_ASSIGN(const SparseReduction all, read_sparse_reduction(context, keep_dims));
  const auto number = static_cast<int64_t>(all.groups.ends.size());
  const size_t rank = all.dims.size();
  MR_ASSIGN(Tensor places, Tensor::zeros(DType::i64, {number, static_cast<int64_t>(rank)}));
  MR_ASSIGN(Tensor values, Tensor::allocate(all.in.values.dtype(), {number}));
  const auto to = places.mutable_flat<int64_t>();
  CancelProbe probe(context);
  for (size_t group = 0; group < all.groups.ends.size(); ++group) {
    const auto rows = all.rows(group);
    for (size_t i = 0; i < all.groups.kept.size(); ++i) {
      const auto axis = static_cast<size_t>(all.groups.kept[i]);
      to[group * rank + (keep_dims ? axis : i)] = all.in.place(rows[0])[axis];
    }
    fold(all.in.values, rows, values, static_cast<int64_t>(group));
    if (!probe.go_on(static_cast<int64_t>(rows.size()))) return probe.status();
  }
  context.set_output(0, std::move(places));
  context.set_output(1, std::move(values));
  context.set_output(2, Tensor::vector<int64_t>(all.dims));
  return {};
}

Status infer_reduce_to_dense(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const bool keep_dims, context.attrs().boolean("keep_dims"));
  MR_ASSIGN(const auto dims, constant_integers(context, 2, "input_shape"));
  MR_ASSIGN(const auto axes, constant_integers(context, 3, "reduction_axes"));
  if (!dims || !axes) {
    const int64_t rank = sparse_rank(context);
    if (keep_dims && rank >= 0 && rank <= kMaxRank)
      context.set_output(0, PartialShape::of_rank(static_cast<int>(rank)));
    return {};
  }
  const auto rank = static_cast<int64_t>(dims->size());
  std::vector<int64_t> left;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const bool is_reduced = std::ranges::any_of(
        *axes, [&](int64_t said) { return said == axis || said + rank == axis; });
    if (!is_reduced || keep_dims)
      left.push_back(is_reduced ? 1 : (*dims)[static_cast<size_t>(axis)]);
  }
  return context.set_output(0, PartialShape::create(left));
}

Status infer_reduce_to_sparse(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const bool keep_dims, context.attrs().boolean("keep_dims"));
  return set_sparse(context, kUnknownDim, keep_dims ? sparse_rank(context) : kUnknownDim);
}

// --- SparseSoftmax ---

using SoftmaxOfGroup = void (*)(const Tensor& values, std::span<const int64_t> rows, Tensor& out,
                                int64_t to);

template <class T>
void softmax_of_group(const Tensor& values, std::span<const int64_t> rows, Tensor& out,
                      int64_t to) {
  using M = cpu::Math<T>;
  const auto all = values.flat<T>();
  const auto value = [&](int64_t row) { return static_cast<M>(all[static_cast<size_t>(row)]); };
  M largest = value(rows[0]);
  for (const int64_t row : rows) largest = std::max(largest, value(row));
  M total = 0;
  for (const int64_t row : rows) total += std::exp(value(row) - largest);
  T* made = out.mutable_flat<T>().data() + to;
  for (const int64_t row : rows) *made++ = static_cast<T>(std::exp(value(row) - largest) / total);
}

// What is made stands in row-major order of the places, as in TensorFlow.
Result<Tensor> softmax_sparse(KernelContext& context, SoftmaxOfGroup softmax) {
  SparseReduction all;
  MR_ASSIGN(all.in, read_sparse(context, 0, Places::anywhere));
  if (all.in.rank < 2) {
    return invalid("Input should have rank >= 2, but received shape of ", all.in.rank, " sizes");
  }
  MR_TRY(Shape::create(all.in.dims).status());
  std::vector<int> kept(all.in.rank - 1);
  std::iota(kept.begin(), kept.end(), 0);
  all.groups = grouped(all.in, std::move(kept));
  MR_ASSIGN(Tensor made, Tensor::allocate(all.in.values.dtype(), {all.in.number}));
  int64_t to = 0;
  CancelProbe probe(context);
  for (size_t group = 0; group < all.groups.ends.size(); ++group) {
    const auto rows = all.rows(group);
    softmax(all.in.values, rows, made, to);
    to += static_cast<int64_t>(rows.size());
    if (!probe.go_on(static_cast<int64_t>(rows.size()))) return probe.status();
  }
  return made;
}

Status infer_softmax_sparse(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_ASSIGN(const PartialShape values, context.input_of_rank(1, 1));
  context.set_output(0, values);
  return {};
}

struct FoldChoice {
  FoldGroup (*choose)(DType);
  Result<FoldGroup> read(const KernelSpec& spec) const {
    const DType dtype = spec.inputs[1].dtype;
    const FoldGroup found = choose(dtype);
    if (found == nullptr) return cpu::no_loop(spec, dtype);
    return found;
  }
};

FoldGroup summing(DType dtype) {
  return cpu::pick<FoldGroup>(cpu::Number(), dtype,
                              []<class T>() -> FoldGroup { return &sum_group<T>; });
}
FoldGroup taking_largest(DType dtype) {
  return cpu::pick<FoldGroup>(cpu::Real(), dtype,
                              []<class T>() -> FoldGroup { return &largest_of_group<T>; });
}

constexpr std::string_view kReduced =
    "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32 -> ";

Status add_sparse_reduction(OpRegistry& ops, const std::string& name, std::string_view what,
                            std::string_view types, FoldChoice fold, GradFn gradient,
                            std::string_view folded) {
  const std::string attrs = str_cat("keep_dims: bool = false, T: ", types);
  const std::string input = "[[0 0] [0 2] [1 1]], [1 2 3], [2 3], ";
  MR_TRY(ops.add({
      .name = name,
      .doc = str_cat(what,
                     " of the elements of a sparse tensor that are there, along axes; 0 "
                     "where there are none. Negative axes count from the end."),
      .signature = str_cat(kReduced, "output: T | ", attrs),
      .infer = infer_reduce_to_dense,
      .cpu = kernel_with(reduce_to_dense, fold, boolean("keep_dims")),
      .grad = gradient,
      .not_differentiable = gradient != nullptr ? "" : "TensorFlow has no gradient for it either",
      .examples = {str_cat(input, "[1] -> ", folded), str_cat(input, "[0] -> [1 3 2]"),
                   str_cat(input, "-2 -> [[1 3 2]] | keep_dims = true")},
  }));
  return ops.add({
      .name = name + "Sparse",
      .doc = str_cat(what,
                     " of the elements of a sparse tensor that are there, along axes, as a "
                     "sparse tensor of those that have any."),
      .signature = str_cat(
          kReduced, "output_indices: int64, output_values: T, output_shape: int64 | ", attrs),
      .infer = infer_reduce_to_sparse,
      .cpu = kernel_with(reduce_to_sparse, fold, boolean("keep_dims")),
      .not_differentiable = "TensorFlow has no gradient for it either",
      .examples = {str_cat(input, "[1] -> [[0] [1]], ", folded, ", [2]"),
                   str_cat(input, "[0] -> [[0 0] [0 1] [0 2]], [1 3 2], [1 3] | keep_dims = true")},
  });
}

}  // namespace

Status register_sparse_reductions(OpRegistry& ops) {
  MR_TRY(add_sparse_reduction(ops, "SparseReduceSum", "The sums", "number", {summing},
                              grad::sparse_reduce_sum, "[3 3]"));
  MR_TRY(add_sparse_reduction(ops, "SparseReduceMax", "The largest", "real", {taking_largest},
                              nullptr, "[2 3]"));
  return ops.add({
      .name = "SparseSoftmax",
      .doc = "The softmax of the elements of each innermost row that are there, in row-major "
             "order of their places.",
      .signature = "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T | "
                   "T: {half, float, double}",
      .infer = infer_softmax_sparse,
      .cpu = kernel_with(softmax_sparse, cpu::loop_of_output<cpu::Types<Half, float, double>>(
                                             []<class T>() { return &softmax_of_group<T>; })),
      .grad = grad::sparse_softmax,
      .examples = {"[[0 0] [0 2] [1 1]], [1 2 3], [2 3] -> [0.2689414214 0.7310585786 1]"},
  });
}

}  // namespace millrace
