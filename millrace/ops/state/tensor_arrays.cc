// Part of families.h: register_tensor_arrays.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/state/tensor_array_gradients.h"
#include "millrace/ops/state/tensor_array_kernels.h"

namespace millrace {
namespace {

OpDef with_gradient(OpDef op, GradFn grad) {
  op.grad = grad;
  return op;
}

// Arrays of gradients have sizes and lifetimes of their own.
OpDef without_gradient(OpDef op) {
  op.not_differentiable = "it says nothing of what the array holds";
  return op;
}

Status infer_concat(InferContext& context) {
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_tensor_arrays(OpRegistry& ops) {
  MR_TRY(ops.add(without_gradient(stateful_op(
      "TensorArrayGradWithShape",
      "The array of gradients that belongs to an array, whose elements have more dims in front.",
      "handle: resource, flow_in: float, shape_to_prepend: int32 -> grad_handle: resource, "
      "flow_out: float | source: string",
      infer::scalar,
      kernel_with(tensor_arrays::find_gradient_array, text("source"), BoundHandleForm()),
      Cost::cheap))));
  MR_TRY(ops.add(without_gradient(stateful_op(
      "TensorArrayV3", "An array of size tensors, which lives as long as the step.",
      "size: int32 -> handle: resource, flow: float | dtype: type, element_shape: shape = ?, "
      "dynamic_size: bool = false, clear_after_read: bool = true, "
      "identical_element_shapes: bool = false, tensor_array_name: string = ''",
      infer::scalar, tensor_arrays::make_array(), Cost::cheap))));
  MR_TRY(ops.add(with_gradient(
      stateful_op(
          "TensorArrayGradV3",
          "The array of gradients that belongs to an array; source tells those of several losses "
          "apart.",
          "handle: resource, flow_in: float -> grad_handle: resource, flow_out: float | source: "
          "string",
          infer::scalar,
          kernel_with(tensor_arrays::find_gradient_array, text("source"), BoundHandleForm()),
          Cost::cheap),
      array_grad_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayWriteV3", "Puts value into the array at index.",
                                "handle: resource, index: int32, value: T, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(tensor_arrays::write_element), Cost::cheap),
                    array_write_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayReadV3", "The array's element at index.",
                                "handle: resource, index: int32, flow_in: float -> value: dtype | "
                                "dtype: type",
                                infer::unknown, kernel(tensor_arrays::read_element), Cost::cheap),
                    array_read_gradient)));
  MR_TRY(ops.add(with_gradient(
      stateful_op("TensorArrayGatherV3", "The elements at indices, stacked.",
                  "handle: resource, indices: int32, flow_in: float -> value: dtype | "
                  "dtype: type, element_shape: shape = ?",
                  infer::unknown,
                  kernel_with(tensor_arrays::gather_elements, partial_shape("element_shape"))),
      array_gather_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayScatterV3", "Puts the rows of value at indices.",
                                "handle: resource, indices: int32, value: T, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(tensor_arrays::scatter_elements)),
                    array_scatter_gradient)));
  MR_TRY(ops.add(with_gradient(
      stateful_op(
          "TensorArrayConcatV3", "All elements one after another along axis 0.",
          "handle: resource, flow_in: float -> value: dtype, lengths: int64 | "
          "dtype: type, element_shape_except0: shape = ?",
          infer_concat,
          kernel_with(tensor_arrays::concat_elements, partial_shape("element_shape_except0"))),
      array_concat_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArraySplitV3", "Puts pieces of value of the given lengths.",
                                "handle: resource, value: T, lengths: int64, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(tensor_arrays::split_elements)),
                    array_split_gradient)));
  MR_TRY(ops.add(
      without_gradient(stateful_op("TensorArraySizeV3", "How many elements the array has.",
                                   "handle: resource, flow_in: float -> size: int32", infer::scalar,
                                   kernel(tensor_arrays::array_size), Cost::cheap))));
  return ops.add(without_gradient(stateful_op(
      "TensorArrayCloseV3", "Forgets the array before the step ends.", "handle: resource ->",
      infer::no_outputs, kernel(tensor_arrays::close_array), Cost::cheap)));
}

}  // namespace millrace
