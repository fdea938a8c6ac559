// Part of families.h: register_sparse_slices.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

Result<std::vector<int64_t>> read_corner(const Tensor& tensor, size_t rank, std::string_view what) {
  if (tensor.shape().rank() != 1) {
    return invalid("Input ", what, " should be a vector but received shape ",
                   tensor.shape().to_string());
  }
  if (tensor.num_elements() != static_cast<int64_t>(rank)) {
    return invalid("Expected ", what, " to be a vector of length ", rank, " but got length ",
                   tensor.num_elements());
  }
  return read_elements(tensor, what);
}

// Whether [start, start + size) has the index; neither sum is made, as both may overflow.
bool is_in_run(int64_t index, int64_t start, int64_t size) {
  return index >= start &&
         static_cast<uint64_t>(index) - static_cast<uint64_t>(start) < static_cast<uint64_t>(size);
}

Status slice_sparse(KernelContext& context) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
  MR_ASSIGN(const std::vector<int64_t> start, read_corner(context.input(3), in.rank, "start"));
  MR_ASSIGN(const std::vector<int64_t> size, read_corner(context.input(4), in.rank, "size"));
  std::vector<int64_t> dims(in.rank);
  for (size_t axis = 0; axis < in.rank; ++axis) {
    if (size[axis] < 0) return invalid("Expected a non-negative size, got ", size[axis]);
    int64_t left = 0;  // from start to the end of the axis; a start below 0 may be far from it
    if (__builtin_sub_overflow(in.dims[axis], start[axis], &left)) left = size[axis];
    dims[axis] = std::clamp<int64_t>(left, 0, size[axis]);
  }
  std::vector<int64_t> kept;
  CancelProbe probe(context);
  for (int64_t i = 0; i < in.number; ++i) {
    const auto place = in.place(i);
    bool is_in = true;
    for (size_t axis = 0; is_in && axis < in.rank; ++axis)
      is_in = is_in_run(place[axis], start[axis], size[axis]);
    if (is_in) kept.push_back(i);
    if (!probe.go_on(static_cast<int64_t>(in.rank) + 1)) return probe.status();
  }
  MR_ASSIGN(Tensor places, picked_rows(in.indices, kept));
  int64_t* index = places.mutable_flat<int64_t>().data();
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t axis = 0; axis < in.rank; ++axis) *index++ -= start[axis];
  }
  context.set_output(0, std::move(places));
  MR_TRY(context.set_output(1, picked_rows(in.values, kept)));
  context.set_output(2, Tensor::vector<int64_t>(dims));
  return {};
}

Status infer_slice_sparse(InferContext& context) {
  MR_TRY(infer_sparse(context));
  MR_TRY(context.input_of_rank(3, 1));
  MR_TRY(context.input_of_rank(4, 1));
  return set_sparse(context, kUnknownDim, sparse_rank(context));
}

// --- the gradient ---

Status check_slice_grad(const Tensor& arriving, const Tensor& all, const Tensor& start,
                        const Tensor& kept) {
  if (arriving.shape().rank() != 1) {
    return invalid("Input backprop_val_grad should be a vector but received shape ",
                   arriving.shape().to_string());
  }
  if (all.shape().rank() != 2 || kept.shape().rank() != 2) {
    return invalid("Input and output indices should be matrices but received shapes: ",
                   all.shape().to_string(), " and ", kept.shape().to_string());
  }
  const int64_t rank = all.shape().dim(1);
  if (kept.shape().dim(1) != rank) {
    return invalid("The input and output should have the same ndims: got: ", rank, " and ",
                   kept.shape().dim(1));
  }
  if (start.shape() != Shape{rank}) {
    return invalid("The input_start should be a vector of length ", rank, ", got shape ",
                   start.shape().to_string());
  }
  if (kept.shape().dim(0) > all.shape().dim(0)) {
    return invalid("# rows of output_indices should be not greater than of input_indices, got ",
                   kept.shape().dim(0), " and ", all.shape().dim(0));
  }
  if (arriving.num_elements() != kept.shape().dim(0)) {
    return invalid(
        "The number of elements in backprop_val_grad and of rows of output_indices "
        "should match: got ",
        arriving.num_elements(), " and ", kept.shape().dim(0));
  }
  return {};
}

Result<Tensor> slice_sparse_grad(KernelContext& context) {
  const Tensor& arriving = context.input(0);
  const Tensor& all = context.input(1);
  const Tensor& kept = context.input(3);
  MR_TRY(check_slice_grad(arriving, all, context.input(2), kept));
  const auto start = context.input(2).flat<int64_t>();
  const size_t rank = start.size();
  MR_ASSIGN(Tensor made, Tensor::zeros(arriving.dtype(), {all.shape().dim(0)}));
  const auto size = static_cast<int64_t>(dtype_size(made.dtype()));
  const auto index = all.flat<int64_t>(), left = kept.flat<int64_t>();
  int64_t next = 0;
  CancelProbe probe(context);
  for (int64_t i = 0; i < all.shape().dim(0) && next < kept.shape().dim(0); ++i) {
    if (!probe.go_on(static_cast<int64_t>(rank) + 1)) return probe.status();
    bool is_it = true;
    for (size_t axis = 0; is_it && axis < rank; ++axis) {
      int64_t moved = 0;
      const bool fits =
          !__builtin_sub_overflow(index[static_cast<size_t>(i) * rank + axis], start[axis], &moved);
      is_it = fits && moved == left[static_cast<size_t>(next) * rank + axis];
    }
    if (!is_it) continue;
    copy_elements(made.dtype(), static_cast<const char*>(arriving.data()) + next * size,
                  static_cast<char*>(made.mutable_data()) + i * size, 1);
    ++next;
  }
  if (next < arriving.num_elements()) {
    return invalid("Elements of backprop_val_grad aren't all propagated. Num elements:",
                   arriving.num_elements(), ", used: ", next);
  }
  return made;
}

Status infer_slice_sparse_grad(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape all, context.input_of_rank(1, 2));
  MR_TRY(context.input_of_rank(2, 1));
  MR_TRY(context.input_of_rank(3, 2));
  context.set_output(0, PartialShape{all.has_rank() ? all.dim(0) : kUnknownDim});
  return {};
}

}  // namespace

Status register_sparse_slices(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseSlice",
      .doc = "What of a sparse tensor is in the box that begins at `start` and is of `size`, as "
             "far as the shape reaches.",
      .signature = "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
                   "output_indices: int64, output_values: T, output_shape: int64 | T: type",
      .infer = infer_slice_sparse,
      .cpu = kernel(slice_sparse),
      .grad = grad::sparse_slice,
      .examples = {"[[0 1] [1 0] [1 2]], [1 0 1], [2 3], [0 1], [2 5] -> [[0 0] [1 1]], [1 1], "
                   "[2 2]"},
  }));
  return ops.add({
      .name = "SparseSliceGrad",
      .doc = "What arrives at the elements of a slice, for all elements of what was sliced.",
      .signature = "backprop_val_grad: T, input_indices: int64, input_start: int64, "
                   "output_indices: int64 -> val_grad: T | T: number",
      .infer = infer_slice_sparse_grad,
      .cpu = kernel(slice_sparse_grad),
      .not_differentiable = "TensorFlow has no gradient for it either",
      .examples = {"[5 6], [[0 1] [1 0] [1 2]], [0 1], [[0 0] [1 1]] -> [5 0 6]"},
  });
}

}  // namespace millrace
