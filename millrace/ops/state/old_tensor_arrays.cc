// Part of families.h: register_old_tensor_arrays.
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/state/tensor_array_kernels.h"

namespace millrace {
namespace {

Status infer_old_concat(InferContext& context) {
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

// Arrays of before TensorFlow 1.0: the handle is strings, or a reference to them, and writes give
// the first flow.
struct OldArrays {
  std::string version, handle;
};

Status add_old_array(OpRegistry& ops, const OldArrays& old, const std::string& name,
                     std::string doc, const std::string& arguments, InferFn infer,
                     KernelFactory cpu, Cost cost = Cost::by_size) {
  OpDef op = stateful_op(str_cat("TensorArray", name, old.version), std::move(doc), arguments,
                         std::move(infer), std::move(cpu), cost);
  op.not_differentiable = "arrays have gradients from their third version on";
  return ops.add(std::move(op));
}

Status register_old_makers(OpRegistry& ops, const OldArrays& old) {
  const InferFn infer = old.version.empty() ? InferFn(infer_handle_strings) : infer::unknown;
  MR_TRY(
      add_old_array(ops, old, "", "An array of size tensors, which lives as long as the step.",
                    str_cat("size: int32 -> handle: ", old.handle,
                            " | dtype: type, element_shape: shape = ?, dynamic_size: bool = false, "
                            "clear_after_read: bool = true, tensor_array_name: string = ''"),
                    infer, tensor_arrays::make_array(), Cost::cheap));
  return add_old_array(
      ops, old, "Grad",
      "The array of gradients that belongs to an array; source tells those of several losses "
      "apart.",
      str_cat("handle: string, flow_in: float -> grad_handle: ", old.handle, " | source: string"),
      infer, kernel_with(tensor_arrays::find_gradient_array, text("source"), BoundHandleForm()),
      Cost::cheap);
}

Status register_old_arrays(OpRegistry& ops, const OldArrays& old) {
  const std::string handle = "handle: " + old.handle;
  const std::string gives_flow = ", flow_in: float -> flow_out: float | T: type";
  MR_TRY(register_old_makers(ops, old));
  MR_TRY(add_old_array(ops, old, "Write", "Puts value into the array at index.",
                       handle + ", index: int32, value: T" + gives_flow, infer::scalar,
                       kernel(tensor_arrays::write_element), Cost::cheap));
  MR_TRY(add_old_array(ops, old, "Read", "The array's element at index.",
                       handle + ", index: int32, flow_in: float -> value: dtype | dtype: type",
                       infer::unknown, kernel(tensor_arrays::read_element), Cost::cheap));
  MR_TRY(add_old_array(
      ops, old, "Gather", "The elements at indices, stacked.",
      handle + ", indices: int32, flow_in: float -> value: dtype | "
               "dtype: type, element_shape: shape = ?",
      infer::unknown, kernel_with(tensor_arrays::gather_elements, partial_shape("element_shape"))));
  MR_TRY(add_old_array(ops, old, "Scatter", "Puts the rows of value at indices.",
                       handle + ", indices: int32, value: T" + gives_flow, infer::scalar,
                       kernel(tensor_arrays::scatter_elements)));
  MR_TRY(add_old_array(
      ops, old, "Concat", "All elements one after another along axis 0.",
      handle + ", flow_in: float -> value: dtype, lengths: int64 | dtype: type, "
               "element_shape_except0: shape = ?",
      infer_old_concat,
      kernel_with(tensor_arrays::concat_elements, partial_shape("element_shape_except0"))));
  MR_TRY(add_old_array(ops, old, "Split", "Puts pieces of value of the given lengths.",
                       handle + ", value: T, lengths: int64" + gives_flow, infer::scalar,
                       kernel(tensor_arrays::split_elements)));
  MR_TRY(add_old_array(ops, old, "Size", "How many elements the array has.",
                       handle + ", flow_in: float -> size: int32", infer::scalar,
                       kernel(tensor_arrays::array_size), Cost::cheap));
  return add_old_array(ops, old, "Close", "Forgets the array before the step ends.", handle + " ->",
                       infer::no_outputs, kernel(tensor_arrays::close_array), Cost::cheap);
}

}  // namespace

Status register_old_tensor_arrays(OpRegistry& ops) {
  const OldArrays first{"", "ref(string)"}, second{"V2", "string"};
  MR_TRY(register_old_arrays(ops, second));
  MR_TRY(register_old_arrays(ops, first));
  MR_TRY(add_old_array(
      ops, first, "Pack", "All elements, stacked.",
      "handle: ref(string), flow_in: float -> value: dtype | dtype: type, "
      "element_shape: shape = ?",
      infer::unknown, kernel_with(tensor_arrays::gather_elements, partial_shape("element_shape"))));
  return add_old_array(ops, first, "Unpack", "Puts each row of value into an element.",
                       "handle: ref(string), value: T, flow_in: float -> flow_out: float | T: type",
                       infer::scalar, kernel(tensor_arrays::scatter_elements));
}

}  // namespace millrace
