// Part of families.h: register_slices.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/slice_assign.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// Where a box inside a tensor begins, as an element.
int64_t offset_of(std::span<const int64_t> begin, const Strides& strides) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < begin.size(); ++axis) offset += begin[axis] * strides[axis];
  return offset;
}

// --- Slice ---

// Sizes with -1 worked out: what is left from begin on.
template <class AnyShape>
Result<std::vector<int64_t>> slice_sizes(const AnyShape& input, std::span<const int64_t> begin,
                                         std::vector<int64_t> sizes) {
  const size_t rank = static_cast<size_t>(input.rank());
  if (begin.size() != rank || sizes.size() != rank) {
    return invalid("Expected begin and size arguments to be 1-D tensors of size ", rank,
                   ", but got sizes ", begin.size(), " and ", sizes.size(), " instead.");
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t dim = input.dim(static_cast<int>(axis));
    if (dim == kUnknownDim) continue;
    if (begin[axis] < 0 || begin[axis] > dim) {
      return invalid("Expected begin[", axis, "] in [0, ", dim, "], but got ", begin[axis]);
    }
    if (sizes[axis] == -1) sizes[axis] = dim - begin[axis];
    if (sizes[axis] < 0 || sizes[axis] > dim - begin[axis]) {
      return invalid("Expected size[", axis, "] in [0, ", dim - begin[axis], "], but got ",
                     sizes[axis]);
    }
  }
  return sizes;
}

Result<Tensor> slice(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (context.input(1).shape().rank() != 1 || context.input(2).shape().rank() != 1) {
    return invalid("Expected begin and size arguments to be 1-D tensors of size ",
                   input.shape().rank(), ", but got shapes ", context.input(1).shape().to_string(),
                   " and ", context.input(2).shape().to_string(), " instead.");
  }
  MR_ASSIGN(const std::vector<int64_t> begin, read_integers(context.input(1), "begin"));
  MR_ASSIGN(std::vector<int64_t> wanted, read_integers(context.input(2), "size"));
  MR_ASSIGN(const std::vector<int64_t> sizes, slice_sizes(input.shape(), begin, std::move(wanted)));
  MR_ASSIGN(const Shape shape, Shape::create(sizes));
  if (shape == input.shape()) return context.take_input(0);
  const Strides from = row_major_strides(input.shape());
  return copied_box(shape, input, {offset_of(begin, from), from}, context);
}

// A size of -1 is what is left, which nobody knows as long as nobody knows where the box begins.
Status set_known_sizes(InferContext& context, KnownElements sizes) {
  for (std::optional<int64_t>& size : sizes)
    if (size && *size < 0) size = std::nullopt;
  return context.set_output(0, known_shape(sizes));
}

Status infer_slice(InferContext& context) {
  const PartialShape& input = context.input(0);
  MR_ASSIGN(const auto begin, constant_integers(context, 1, "begin"));
  MR_ASSIGN(const auto wanted, constant_integers(context, 2, "size"));
  if (input.has_rank() && begin && wanted) {
    MR_ASSIGN(std::vector<int64_t> sizes, slice_sizes(input, *begin, *wanted));
    for (int64_t& size : sizes) size = std::max(size, kUnknownDim);
    MR_TRY(context.set_output(0, PartialShape::create(sizes)));
  } else if (input.has_rank()) {
    const auto known = context.elements(2);
    context.set_output(0, PartialShape::of_rank(input.rank()));
    if (known && std::ssize(*known) == input.rank()) return set_known_sizes(context, *known);
  }
  return {};
}

// --- StridedSlice ---

// Where the box that a plan describes lies in a tensor with these strides.
Strides sliced_strides(const SlicePlan& plan, Strides strides) {
  for (size_t axis = 0; axis < strides.size(); ++axis) strides[axis] *= plan.stride[axis];
  return strides;
}

Result<Tensor> strided_slice(KernelContext& context, const SliceMasks& masks) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const SliceArguments arguments, read_slice_arguments(context, masks));
  MR_ASSIGN(const SlicePlan plan, plan_slice(input.shape(), arguments));
  MR_ASSIGN(const Shape shape, Shape::create(plan.output));
  const bool is_everything =
      shape.num_elements() == input.num_elements() &&
      std::ranges::all_of(plan.stride, [](int64_t stride) { return stride >= 0; });
  if (is_everything) return context.take_input(0).reshaped(shape);
  // Axes are dropped and added by the masks; the box that is copied has those of the input.
  MR_ASSIGN(const Shape box, Shape::create(plan.size));
  const Strides own = row_major_strides(input.shape());
  const Strides from = sliced_strides(plan, own);
  MR_ASSIGN(const Tensor made, copied_box(box, input, {offset_of(plan.begin, own), from}, context));
  return made.reshaped(shape);
}

// Zeros of the shape that was sliced, with dy where the slice was.
Result<Tensor> strided_slice_grad(KernelContext& context, const SliceMasks& masks) {
  const Tensor& dy = context.input(4);
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  MR_ASSIGN(const SliceArguments arguments, read_slice_arguments(context, masks));
  MR_ASSIGN(const SlicePlan plan, plan_slice(shape, arguments));
  MR_ASSIGN(const Shape sliced, Shape::create(plan.output));
  if (sliced != dy.shape()) {
    return invalid("shape of dy was ", dy.shape().to_string(), " instead of ", sliced.to_string());
  }
  MR_ASSIGN(Tensor output, Tensor::zeros(dy.dtype(), shape));
  if (dy.num_elements() == 0) return output;
  MR_ASSIGN(const Shape box, Shape::create(plan.size));
  const Strides own = row_major_strides(shape), from = row_major_strides(box);
  const Strides to = sliced_strides(plan, own);
  CancelProbe probe(context);
  MR_TRY(copy_box(box.dims(), dy, {0, from}, output, {offset_of(plan.begin, own), to}, probe));
  return output;
}

// The input with `value`, which broadcasts, where the slice is.
Result<Tensor> strided_slice_update(KernelContext& context, const SliceMasks& masks) {
  MR_ASSIGN(const SliceArguments arguments, read_slice_arguments(context, masks));
  Tensor held = context.take_input(0);
  if (!held.is_sole_owner()) {
    MR_ASSIGN(held, held.clone());
  }
  MR_TRY(assign_slice(held, arguments, context.input(4), CancelProbe(context)));
  return held;
}

Status infer_strided_slice(InferContext& context) {
  const PartialShape& input = context.input(0);
  SliceArguments arguments;
  MR_ASSIGN(arguments.masks, SliceMasks::from(context.attrs()));
  MR_ASSIGN(arguments.begin, constant_integers(context, 1, "begin"));
  MR_ASSIGN(arguments.end, constant_integers(context, 2, "end"));
  MR_ASSIGN(arguments.strides, constant_integers(context, 3, "strides"));
  PartialShape entries;  // begin, end and strides are as long as each other
  for (int slot = 1; slot <= 3; ++slot) {
    MR_ASSIGN(entries, entries.merge(context.input(slot)));
  }
  if (!input.has_rank() || entries.rank() != 1 || entries.dim(0) == kUnknownDim) return {};
  arguments.count = static_cast<size_t>(entries.dim(0));
  MR_ASSIGN(const SlicePlan plan, plan_slice(input, arguments));
  return context.set_output(0, PartialShape::create(plan.output));
}

// Some of the elements of a vector, or one.
std::optional<KnownElements> elements_of_strided_slice(const InferContext& context) {
  const auto from = context.elements(0);
  const auto masks = SliceMasks::from(context.attrs());
  if (!from || context.input(0).rank() != 1 || !masks.ok() || masks->new_axis != 0)
    return std::nullopt;
  const SliceArguments arguments{.count = 1,
                                 .begin = context.all_elements(1),
                                 .end = context.all_elements(2),
                                 .strides = context.all_elements(3),
                                 .masks = *masks};
  for (const auto* entries : {&arguments.begin, &arguments.end, &arguments.strides})
    if (!*entries || (*entries)->size() != 1) return std::nullopt;
  const auto plan = plan_slice(PartialShape{static_cast<int64_t>(from->size())}, arguments);
  if (!plan.ok() || plan->size[0] == kUnknownDim) return std::nullopt;
  KnownElements some;
  for (int64_t i = 0; i < plan->size[0]; ++i)
    some.push_back(from->at(static_cast<size_t>(plan->begin[0] + i * plan->stride[0])));
  return some;
}

}  // namespace

Status register_slices(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Slice",
      .doc = "The box of the given size that begins at begin; a size of -1 goes to the end.",
      .signature =
          "input: T, begin: Index, size: Index -> output: T | T: type, Index: {int32, int64}",
      .infer = infer_slice,
      .cpu = kernel(slice),
      .grad = grad::slice,
      .examples = {"[[1 2 3] [4 5 6]], [0 1], [2 -1] -> [[2 3] [5 6]]", "[1 2 3], [3], [0] -> []"},
  }));
  MR_TRY(ops.add({
      .name = "StridedSliceGrad",
      .doc = "The gradient of StridedSlice: zeros of the given shape, with dy where the slice was.",
      .signature = "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T | "
                   "T: type, Index: {int32, int64}, begin_mask: int = 0, end_mask: int = 0, "
                   "ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0",
      .infer = [](InferContext& context) { return infer_shape_of(context, "shape"); },
      .cpu = kernel_with(strided_slice_grad, BoundMasks()),
      .grad = grad::strided_slice_grad,
      .examples =
          {"[5], [1], [4], [2], [2 4] -> [0 2 0 4 0] | T = float",
           "[3], [0], [0], [-1], [5 4 3] -> [3 4 5] | begin_mask = 1, end_mask = 1, T = float",
           "[3], [-2], [0], [1], 4 -> [0 4 0] | shrink_axis_mask = 1, T = float"},
  }));
  MR_TRY(ops.add({
      .name = "TensorStridedSliceUpdate",
      .doc = "The input with value, which is repeated to fit, where the slice is.",
      .signature = "input: T, begin: Index, end: Index, strides: Index, value: T -> output: T | "
                   "T: type, Index: {int32, int64}, begin_mask: int = 0, end_mask: int = 0, "
                   "ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0",
      .infer = infer::same_as_input,
      .cpu = kernel_with(strided_slice_update, BoundMasks()),
      .grad = grad::tensor_strided_slice_update,
      .examples = {"[1 2 3 4 5], [1], [4], [2], [8 9] -> [1 8 3 9 5]",
                   "[1 2 3], [-2], [0], [1], 9 -> [1 9 3] | shrink_axis_mask = 1"},
  }));
  return ops.add({
      .name = "StridedSlice",
      .doc =
          "The elements from begin to before end, strides apart, along each axis; the masks give "
          "entries the meanings of NumPy's :, ..., newaxis and single indices.",
      .signature = "input: T, begin: Index, end: Index, strides: Index -> output: T | T: type, "
                   "Index: {int16, int32, int64}, begin_mask: int = 0, end_mask: int = 0, "
                   "ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0",
      .infer = infer_strided_slice,
      .cpu = kernel_with(strided_slice, BoundMasks()),
      .grad = grad::strided_slice,
      .elements = elements_of_strided_slice,
      .examples = {"[1 2 3 4 5], [1], [4], [2] -> [2 4]",
                   "[1 2 3 4 5], [0], [0], [-1] -> [5 4 3 2 1] | begin_mask = 1, end_mask = 1",
                   "[1 2 3 4 5], [-2], [0], [1] -> 4 | shrink_axis_mask = 1",
                   "[[1 2] [3 4]], [0 1], [0 2], [1 1] -> [[2] [4]] | ellipsis_mask = 1",
                   "[1 2], [0 0], [0 2], [1 1] -> [[1 2]] | new_axis_mask = 1",
                   "[1 2 3], [-9], [9], [1] -> [1 2 3]", "[1 2 3], [2], [1], [1] -> []"},
  });
}

}  // namespace millrace
