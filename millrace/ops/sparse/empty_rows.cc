// Part of families.h: register_sparse_empty_rows.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// How many elements each row has.
Result<Tensor> row_lengths(const SparseInput& in) {
  MR_ASSIGN(Tensor made, Tensor::zeros(DType::i64, {in.dims[0]}));
  const auto lengths = made.mutable_flat<int64_t>();
  for (int64_t i = 0; i < in.number; ++i) {
    const int64_t row = in.place(i)[0];
    if (row < 0) return invalid("indices(", i, ", 0) is invalid: ", row, " < 0");
    if (row >= in.dims[0])
      return invalid("indices(", i, ", 0) is invalid: ", row, " >= ", in.dims[0]);
    ++lengths[static_cast<size_t>(row)];
  }
  return made;
}

// The outputs are those of SparseFillEmptyRows.
Status fill_rows(KernelContext& context, const SparseInput& in, const Tensor& standard) {
  if (!standard.shape().is_scalar()) {
    return invalid("default_value must be a scalar, saw: ", standard.shape().to_string());
  }
  if (in.rank == 0) return invalid("Dense shape cannot be empty.");
  if (in.dims[0] == 0 && in.number > 0) {
    return invalid("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ",
                   in.number);
  }
  MR_ASSIGN(Tensor lengths, row_lengths(in));
  MR_ASSIGN(Tensor empty, Tensor::allocate(DType::boolean, {in.dims[0]}));
  // From here on where the next element of each row comes to stand.
  const auto next = lengths.mutable_flat<int64_t>();
  const auto is_empty = empty.mutable_flat<bool>();
  int64_t number = 0;
  for (size_t row = 0; row < next.size(); ++row) {
    is_empty[row] = next[row] == 0;
    number += std::exchange(next[row], number) + (is_empty[row] ? 1 : 0);
  }
  // A ragged tensor's are a vector.
  MR_ASSIGN(const Shape places_shape,
            context.input(0).shape().rank() == 1
                ? Shape::create(std::array<int64_t, 1>{number})
                : Shape::create(std::array<int64_t, 2>{number, static_cast<int64_t>(in.rank)}));
  MR_ASSIGN(Tensor places, Tensor::zeros(DType::i64, places_shape));
  MR_ASSIGN(Tensor values, Tensor::allocate(in.values.dtype(), {number}));
  MR_ASSIGN(Tensor reverse, Tensor::allocate(DType::i64, {in.number}));
  const auto to = places.mutable_flat<int64_t>();
  const auto size = static_cast<int64_t>(dtype_size(values.dtype()));
  char* const all = static_cast<char*>(values.mutable_data());
  CancelProbe probe(context);
  for (size_t row = 0; row < next.size(); ++row) {
    if (!is_empty[row]) continue;
    to[static_cast<size_t>(next[row]) * in.rank] = static_cast<int64_t>(row);
    copy_elements(values.dtype(), standard.data(), all + next[row] * size, 1);
    if (!probe.go_on(1)) return probe.status();
  }
  const char* from = static_cast<const char*>(in.values.data());
  for (int64_t i = 0; i < in.number; ++i, from += size) {
    const auto place = in.place(i);
    const int64_t at = next[static_cast<size_t>(place[0])]++;
    std::ranges::copy(place, to.begin() + at * static_cast<int64_t>(in.rank));
    copy_elements(values.dtype(), from, all + at * size, 1);
    reverse.mutable_flat<int64_t>()[static_cast<size_t>(i)] = at;
    if (!probe.go_on(1)) return probe.status();
  }
  context.set_output(0, std::move(places));
  context.set_output(1, std::move(values));
  context.set_output(2, std::move(empty));
  context.set_output(3, std::move(reverse));
  return {};
}

Status fill_empty_rows(KernelContext& context) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
  return fill_rows(context, in, context.input(3));
}

// A ragged tensor whose elements name their rows is a sparse one that knows nothing of columns.
Status fill_empty_ragged_rows(KernelContext& context) {
  const Tensor &rows = context.input(0), &values = context.input(1), &number = context.input(2);
  if (rows.shape().rank() != 1)
    return invalid("value_rowids must be a vector, saw: ", rows.shape().to_string());
  if (values.shape().rank() != 1)
    return invalid("values must be a vector, saw: ", values.shape().to_string());
  if (!number.shape().is_scalar())
    return invalid("nrows must be a scalar, saw: ", number.shape().to_string());
  if (values.num_elements() != rows.num_elements()) {
    return invalid("The length of `values` (", values.num_elements(),
                   ") must match the first dimension of `value_rowids` (", rows.num_elements(),
                   ").");
  }
  MR_ASSIGN(const Tensor places, rows.reshaped({rows.num_elements(), 1}));
  MR_ASSIGN(const Tensor dims, number.reshaped({1}));
  MR_ASSIGN(const SparseInput in, read_sparse(places, values, dims, Places::anywhere));
  return fill_rows(context, in, context.input(3));
}

Status infer_fill_empty_rows(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_TRY(context.input_of_rank(3, 0));
  MR_TRY(set_sparse(context, kUnknownDim, sparse_rank(context), 2));
  MR_ASSIGN(const auto dims, constant_integers(context, 2, "dense_shape"));
  const int64_t rows = dims && !dims->empty() && dims->front() >= 0 ? dims->front() : kUnknownDim;
  const PartialShape& values = context.input(1);
  context.set_output(2, PartialShape{rows});
  context.set_output(3, PartialShape{values.has_rank() ? values.dim(0) : kUnknownDim});
  return {};
}

Status infer_fill_empty_ragged_rows(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape values, context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 0));
  MR_TRY(context.input_of_rank(3, 0));
  MR_ASSIGN(const auto number, constant_integers(context, 2, "nrows"));
  const int64_t rows = number && number->front() >= 0 ? number->front() : kUnknownDim;
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(1, PartialShape::of_rank(1));
  context.set_output(2, PartialShape{rows});
  context.set_output(3, PartialShape{values.dim(0)});
  return {};
}

// --- the gradient ---

using SumOthers = void (*)(const Tensor& all, std::span<const bool> taken, Tensor& sum);

// The sum of what went to no element, and so to the default value.
template <class T>
void sum_others(const Tensor& all, std::span<const bool> taken, Tensor& sum) {
  using M = cpu::Math<T>;
  M total = M(0);
  const auto values = all.flat<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!taken[i]) total = cpu::add(total, static_cast<M>(values[i]));
  }
  sum.mutable_flat<T>()[0] = static_cast<T>(total);
}

Status fill_empty_rows_grad(KernelContext& context, SumOthers sum_of) {
  const Tensor& reverse = context.input(0);
  const Tensor& arriving = context.input(1);
  if (reverse.shape().rank() != 1) {
    return invalid("reverse_index_map must be a vector, saw: ", reverse.shape().to_string());
  }
  if (arriving.shape().rank() != 1) {
    return invalid("grad_values must be a vector, saw: ", arriving.shape().to_string());
  }
  const int64_t number = arriving.num_elements();
  MR_ASSIGN(Tensor marks, Tensor::zeros(DType::boolean, {number}));
  const auto taken = marks.mutable_flat<bool>();
  for (const int64_t at : reverse.flat<int64_t>()) {
    if (at < 0 || at >= number) {
      return invalid("Elements in reverse index must be in [0, ", number, ") but got ", at);
    }
    taken[static_cast<size_t>(at)] = true;
  }
  MR_ASSIGN(Tensor rest, Tensor::allocate(arriving.dtype(), Shape()));
  sum_of(arriving, taken, rest);
  MR_TRY(context.set_output(0, picked_rows(arriving, reverse.flat<int64_t>())));
  context.set_output(1, std::move(rest));
  return {};
}

Status infer_fill_empty_rows_grad(InferContext& context) {
  MR_ASSIGN(const PartialShape reverse, context.input_of_rank(0, 1));
  MR_TRY(context.input_of_rank(1, 1));
  context.set_output(0, reverse);
  context.set_output(1, PartialShape::scalar());
  return {};
}

}  // namespace

Status register_sparse_empty_rows(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseFillEmptyRows",
      .doc = "The sparse tensor with default_value at the head of each row that has nothing; which "
             "rows those were, and where each element came to stand.",
      .signature = "indices: int64, values: T, dense_shape: int64, default_value: T -> "
                   "output_indices: int64, output_values: T, empty_row_indicator: bool, "
                   "reverse_index_map: int64 | T: type",
      .infer = infer_fill_empty_rows,
      .cpu = kernel(fill_empty_rows),
      .grad = grad::sparse_fill_rows,
      .examples = {"[[0 1] [2 0] [2 1]], [1 0 1], [3 2], 1 -> [[0 1] [1 0] [2 0] [2 1]], "
                   "[1 1 0 1], [false true false], [0 2 3]",
                   "[[2 0] [0 1]], [1 0], [3 2], 1 -> [[0 1] [1 0] [2 0]], [0 1 1], "
                   "[false true false], [2 0]"},
  }));
  MR_TRY(ops.add({
      .name = "RaggedFillEmptyRows",
      .doc = "The ragged tensor, whose elements name their rows, with default_value in each row "
             "that has nothing; which rows those were, and where each element came to stand.",
      .signature = "value_rowids: int64, values: T, nrows: int64, default_value: T -> "
                   "output_value_rowids: int64, output_values: T, empty_row_indicator: bool, "
                   "reverse_index_map: int64 | T: type",
      .infer = infer_fill_empty_ragged_rows,
      .cpu = kernel(fill_empty_ragged_rows),
      .grad = grad::sparse_fill_rows,
      .examples = {"[0 2 2], [1 0 1], 4, 1 -> [0 1 2 2 3], [1 1 0 1 1], [false true false true], "
                   "[0 2 3]",
                   "[2 0], [1 0], 3, 1 -> [0 1 2], [0 1 1], [false true false], [2 0]"},
  }));
  const std::string grad_signature =
      "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T | T: type";
  const KernelFactory grad_kernel =
      kernel_with(fill_empty_rows_grad,
                  cpu::loop_of_output<cpu::Number>([]<class T>() { return &sum_others<T>; }));
  const std::vector<std::string> grad_examples = {"[2 0], [5 6 7 8] -> [7 5], 14 | T = float",
                                                  "[0 2], [1 2 3] -> [1 3], 2 | T = int8"};
  for (const char* name : {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}) {
    MR_TRY(ops.add({
        .name = name,
        .doc = "What arrives at the elements of filled rows, for the elements before and for the "
               "default value.",
        .signature = grad_signature,
        .infer = infer_fill_empty_rows_grad,
        .cpu = grad_kernel,
        .grad = grad::sparse_fill_rows_grad,
        .examples = grad_examples,
    }));
  }
  return {};
}

}  // namespace millrace
