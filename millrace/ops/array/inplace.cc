// Part of families.h: register_inplace.
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

Status check_rows_of(const Tensor& x, const Tensor& rows, const Tensor& values) {
  if (rows.shape().rank() != 1) return invalid("i must be a vector. ", rows.shape().to_string());
  if (x.shape().rank() == 0 || x.shape().rank() != values.shape().rank()) {
    return invalid("x and v shape doesn't match (ranks ", x.shape().rank(), " vs. ",
                   values.shape().rank(), ")");
  }
  if (rows.shape().dim(0) != values.shape().dim(0)) {
    return invalid("i and x shape doesn't match at index 0: ", rows.shape().to_string(), " vs. ",
                   values.shape().to_string());
  }
  for (int axis = 1; axis < x.shape().rank(); ++axis) {
    if (x.shape().dim(axis) == values.shape().dim(axis)) continue;
    return invalid("x and v shape doesn't match at index ", axis, " : ", x.shape().to_string(),
                   " vs. ", values.shape().to_string());
  }
  if (x.shape().dim(0) == 0 && rows.num_elements() > 0)
    return invalid("x has no row that i could name");
  return {};
}

// Puts rows into x, or adds them; a loop of null replaces. Indices beyond x begin anew, as in
// TensorFlow: -1 is the last row.
Result<Tensor> change_rows(KernelContext& context, cpu::BinaryLoop loop) {
  MR_TRY(check_rows_of(context.input(0), context.input(1), context.input(2)));
  Tensor x = context.take_input(0);
  if (!x.is_sole_owner()) {
    MR_ASSIGN(x, x.clone());
  }
  MR_ASSIGN(const std::vector<int64_t> rows, read_integers(context.input(1), "i"));
  const Tensor& values = context.input(2);
  if (values.num_elements() == 0) return x;
  const int64_t count = x.shape().dim(0), size = x.num_elements() / count;
  const size_t bytes = static_cast<size_t>(size) * dtype_size(x.dtype());
  const char* from = static_cast<const char*>(values.data());
  CancelProbe probe(context);
  for (const int64_t row : rows) {
    const int64_t at = (row % count + count) % count;
    char* const to = static_cast<char*>(x.mutable_data()) + static_cast<size_t>(at) * bytes;
    if (loop == nullptr) {
      copy_elements(x.dtype(), from, to, size);
    } else {
      loop(to, 1, from, 1, to, size);
    }
    from += bytes;
    if (!probe.go_on(1 + size)) return probe.status();
  }
  return x;
}

Result<Tensor> put_rows(KernelContext& context) { return change_rows(context, nullptr); }

Result<Tensor> deep_copy(KernelContext& context) { return context.input(0).clone(); }

// What nobody has written is 0 here, whether that is asked for or not.
Result<Tensor> empty(KernelContext& context) {
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  return Tensor::zeros(context.output_dtype(0), shape);
}

Status infer_empty(InferContext& context) { return infer_shape_of(context, "shape"); }

// Each value is a row of the output.
Result<Tensor> parallel_concat(KernelContext& context, const PartialShape& wanted) {
  const auto whole = wanted.to_shape();
  if (!whole || whole->rank() == 0) {
    return invalid("ParallelConcat needs a shape that is known, of rank 1 or more, not ",
                   wanted.to_string());
  }
  if (whole->dim(0) != context.num_inputs()) {
    return invalid("ParallelConcat joins ", context.num_inputs(), " values, but its shape is ",
                   whole->to_string());
  }
  MR_ASSIGN(Tensor made, context.allocate(0, *whole));
  char* to = static_cast<char*>(made.mutable_data());
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    const Tensor& value = context.input(slot);
    const bool is_row =
        value.shape().rank() == whole->rank() && value.shape().dim(0) == 1 &&
        std::ranges::equal(value.shape().dims().subspan(1), whole->dims().subspan(1));
    if (!is_row) {
      return invalid("All input shapes must be fully defined rows of ", whole->to_string(),
                     ", but value ", slot, " has shape ", value.shape().to_string());
    }
    copy_elements(value.dtype(), value.data(), to, value.num_elements());
    to += value.num_bytes();
  }
  return made;
}

Status infer_parallel_concat(InferContext& context) {
  MR_ASSIGN(PartialShape shape, context.attrs().shape("shape"));
  context.set_output(0, std::move(shape));
  return {};
}

Status add_row_change(OpRegistry& ops, std::string name, std::string doc, std::string types,
                      KernelFactory cpu, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T, i: int32, v: T -> y: T | T: " + types,
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .not_differentiable = "its input is changed in place; tf.tensor_scatter_update has one",
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_inplace(OpRegistry& ops) {
  MR_TRY(add_row_change(ops, "InplaceUpdate", "x with rows v in place of those that i names.",
                        "type", kernel(put_rows),
                        "[[1 0] [0 1] [1 1]], [0 2], [[0 0] [0 1]] -> [[0 0] [0 1] [0 1]]"));
  MR_TRY(add_row_change(ops, "InplaceAdd", "x with v added to the rows that i names, one by one.",
                        "number", kernel_with(change_rows, cpu::LoopFor{cpu::addition_loop}),
                        "[[1 2] [3 4] [5 6]], [0 0], [[9 9] [8 8]] -> [[18 19] [3 4] [5 6]]"));
  MR_TRY(add_row_change(ops, "InplaceSub",
                        "x with v subtracted from the rows that i names, one by one.", "number",
                        kernel_with(change_rows, cpu::LoopFor{cpu::subtraction_loop}),
                        "[[9 8] [7 6] [5 4]], [-1 4], [[1 1] [2 2]] -> [[9 8] [5 4] [4 3]]"));
  MR_TRY(ops.add({
      .name = "DeepCopy",
      .doc = "x in memory of its own.",
      .signature = "x: T -> y: T | T: type",
      .infer = infer::same_as_input,
      .cpu = kernel(deep_copy),
      .not_differentiable = "it copies memory for ops that change it",
      .stateful = true,
      .foldable = false,
      .examples = {"[1 2] -> [1 2]"},
  }));
  MR_TRY(ops.add({
      .name = "Empty",
      .doc = "A tensor of a shape to be filled by others; zeros.",
      .signature = "shape: int32 -> output: dtype | dtype: type, init: bool = false",
      .infer = infer_empty,
      .cpu = kernel(empty),
      .not_differentiable = "it gives the same whatever its input",
      .stateful = true,
      .foldable = false,
      .examples = {"[2 3] | init = true"},
  }));
  return ops.add({
      .name = "ParallelConcat",
      .doc = "Values with one row each, as the rows of a tensor of the given shape.",
      .signature = "values: N*T -> output: T | N: int >= 1, T: type, shape: shape",
      .infer = infer_parallel_concat,
      .cpu = kernel_with(parallel_concat, partial_shape("shape")),
      .not_differentiable = "as in TensorFlow; Pack and ConcatV2 have one",
      .examples = {"[[1 2]], [[3 4]] -> [[1 2] [3 4]] | shape = [2,2]"},
  });
}

}  // namespace millrace
