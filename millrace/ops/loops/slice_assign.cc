#include "millrace/ops/loops/slice_assign.h"

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {

Result<SliceArguments> read_slice_arguments(KernelContext& context, const SliceMasks& masks) {
  SliceArguments arguments;
  MR_ASSIGN(arguments.begin, read_integers(context.input(1), "begin"));
  MR_ASSIGN(arguments.end, read_integers(context.input(2), "end"));
  MR_ASSIGN(arguments.strides, read_integers(context.input(3), "strides"));
  arguments.count = arguments.begin->size();
  arguments.masks = masks;
  if (arguments.end->size() != arguments.count || arguments.strides->size() != arguments.count) {
    return invalid("Expected begin, end, and strides to be 1D equal size tensors, but got sizes ",
                   arguments.count, ", ", arguments.end->size(), " and ",
                   arguments.strides->size());
  }
  return arguments;
}

Status assign_slice(Tensor& held, const SliceArguments& arguments, const Tensor& value,
                    CancelProbe probe) {
  MR_ASSIGN(const SlicePlan plan, plan_slice(held.shape(), arguments));
  MR_ASSIGN(const Shape sliced, Shape::create(plan.output));
  // Nothing to write: then any value will do, as for TensorFlow.
  if (sliced.num_elements() == 0) return {};
  const auto together = broadcast_shapes(value.shape(), sliced);
  if (!together.ok() || *together != sliced) {
    return invalid("Cannot assign a value of shape ", value.shape().to_string(),
                   " to a slice of shape ", sliced.to_string());
  }
  Tensor from = value;
  if (value.shape() != sliced) {
    MR_ASSIGN(from,
              copied_box(sliced, value, {0, broadcast_strides(value.shape(), sliced)}, probe));
  }
  // The same elements in the axes of what is sliced: those that were dropped or added are of 1.
  const Strides own = row_major_strides(plan.size);
  Strides to = row_major_strides(held.shape());
  int64_t begin = 0;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    begin += plan.begin[axis] * to[axis];
    to[axis] *= plan.stride[axis];
  }
  return copy_box(plan.size, from, {0, own}, held, {begin, to}, probe);
}

}  // namespace millrace
