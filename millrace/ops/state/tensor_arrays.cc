// Part of families.h: register_tensor_arrays.
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/state/tensor_array.h"
#include "millrace/ops/state/tensor_array_gradients.h"

namespace millrace {
namespace {

constexpr std::string_view kArrayContainer = "_tensor_arrays";

Result<std::shared_ptr<TensorArray>> find_array(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, TensorArray::kTypeName));
  return context.step().step_resources->find<TensorArray>(name.container, name.name);
}

// Values flow from op to op by this: each waits for the one whose flow it takes.
void set_flow(KernelContext& context, int slot) { context.set_output(slot, Tensor::scalar(0.0f)); }

// --- TensorArrayV3, TensorArrayGradV3 ---

class ArrayKernel final : public Kernel {
 public:
  explicit ArrayKernel(TensorArrayOptions options) : options_(std::move(options)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    TensorArrayOptions options;
    MR_ASSIGN(options.name, spec.attrs.string("tensor_array_name"));
    if (options.name.empty()) options.name = spec.node_name;
    MR_ASSIGN(options.dtype, spec.attrs.type("dtype"));
    MR_ASSIGN(options.element_shape, spec.attrs.shape("element_shape"));
    MR_ASSIGN(options.grows, spec.attrs.boolean("dynamic_size"));
    MR_ASSIGN(options.forgets_what_was_read, spec.attrs.boolean("clear_after_read"));
    MR_ASSIGN(options.elements_are_alike, spec.attrs.boolean("identical_element_shapes"));
    return std::unique_ptr<Kernel>(std::make_unique<ArrayKernel>(std::move(options)));
  }

  Status run(KernelContext& context) override {
    MR_ASSIGN(const int64_t size, read_integer(context.input(0), "TensorArray size"));
    ResourceStore& resources = *context.step().step_resources;
    TensorArrayOptions options = options_;
    options.name = str_cat(options_.name, resources.private_name(""));
    const ResourceName name{std::string(kArrayContainer), options.name};
    MR_ASSIGN(std::shared_ptr<TensorArray> array, TensorArray::create(std::move(options), size));
    MR_TRY(resources.add(name.container, name.name, std::move(array)));
    context.set_output(0, Tensor::scalar(make_handle(context, name, TensorArray::kTypeName)));
    set_flow(context, 1);
    return {};
  }

 private:
  const TensorArrayOptions options_;
};

// Finds the array of gradients that `source` asks for, or makes it as long as the array is now.
Status find_gradient_array(KernelContext& context, const std::string& source) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  const ResourceName name{std::string(kArrayContainer),
                          str_cat(array->options().name, "@", source)};
  const auto make = [&] {
    TensorArrayOptions options = array->options();
    options.name = name.name;
    options.element_shape = array->element_shape();
    options.grows = false;
    options.forgets_what_was_read = false;
    options.is_gradient = true;
    auto gradients = TensorArray::create(std::move(options), array->size());
    if (gradients.ok()) (*gradients)->take_shapes_of(*array);
    return gradients;
  };
  MR_TRY(
      context.step().step_resources->find_or_create<TensorArray>(name.container, name.name, make));
  context.set_output(0, Tensor::scalar(make_handle(context, name, TensorArray::kTypeName)));
  set_flow(context, 1);
  return {};
}

// --- one element ---

Status write_element(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "TensorArray index"));
  MR_TRY(array->write(index, context.take_input(2)));
  set_flow(context, 0);
  return {};
}

Result<Tensor> read_element(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "TensorArray index"));
  return array->read(index, context.output_dtype(0));
}

Result<Tensor> array_size(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  return Tensor::scalar(static_cast<int32_t>(array->size()));
}

Status close_array(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  array->close_array();
  return {};
}

// --- many elements ---

Result<std::vector<Tensor>> read_all(TensorArray& array, std::span<const int64_t> indices,
                                     DType dtype) {
  std::vector<Tensor> elements;
  for (const int64_t index : indices) {
    MR_ASSIGN(Tensor element, array.read(index, dtype));
    elements.push_back(std::move(element));
  }
  return elements;
}

// Puts the elements one after another into `output`, which has room for exactly them.
void copy_all(const std::vector<Tensor>& elements, Tensor& output) {
  char* to = static_cast<char*>(output.mutable_data());
  for (const Tensor& element : elements) {
    copy_elements(element.dtype(), element.data(), to, element.num_elements());
    to += element.num_bytes();
  }
}

Result<Tensor> gather_elements(KernelContext& context, const PartialShape& declared) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const std::vector<int64_t> indices, read_integers(context.input(1), "indices"));
  MR_ASSIGN(const std::vector<Tensor> elements, read_all(*array, indices, context.output_dtype(0)));
  // Of no elements, only what is known of their shape can be given.
  MR_ASSIGN(const PartialShape known, declared.merge(array->element_shape()));
  if (elements.empty() && !known.is_fully_known()) {
    return invalid("TensorArray has size zero, but element shape ", known.to_string(),
                   " is not fully defined. Currently only static shapes are supported when packing "
                   "zero-size TensorArrays.");
  }
  const Shape each = elements.empty() ? *known.to_shape() : elements[0].shape();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].shape() == each) continue;
    return invalid("TensorArray has inconsistent shapes. Index 0 has shape: ", each.to_string(),
                   " but index ", i, " has shape: ", elements[i].shape().to_string());
  }
  std::vector<int64_t> dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(elements.size()));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  copy_all(elements, output);
  return output;
}

// Rows [begin, end) of `value` as a tensor of their own.
Result<Tensor> own_rows(const Tensor& value, int64_t begin, int64_t end) {
  MR_ASSIGN(const Tensor shared, value.rows(begin, end));
  return shared.clone();
}

Status check_has_rows(const Tensor& value) {
  if (value.shape().rank() > 0) return {};
  return invalid("Input value for unpack must be at least a vector but received shape: ",
                 value.shape().to_string());
}

Status scatter_elements(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const std::vector<int64_t> indices, read_integers(context.input(1), "indices"));
  const Tensor& value = context.input(2);
  MR_TRY(check_has_rows(value));
  if (static_cast<size_t>(value.shape().dim(0)) != indices.size()) {
    return invalid("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ",
                   value.shape().dim(0));
  }
  MR_ASSIGN(const Shape each, Shape::create(value.shape().dims().subspan(1)));
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    MR_ASSIGN(const Tensor rows, own_rows(value, row, row + 1));
    MR_ASSIGN(Tensor element, rows.reshaped(each));
    MR_TRY(array->write(indices[i], std::move(element)));
  }
  array->note_pieces(array->size());
  set_flow(context, 0);
  return {};
}

// What there is to join of no elements.
Status concat_nothing(KernelContext& context, const PartialShape& each) {
  const auto known = each.to_shape();
  if (!known) {
    return invalid("TensorArray has size zero, but element_shape_except0 ", each.to_string(),
                   " is not fully defined. Currently only static shapes are supported when "
                   "concatenating zero-size TensorArrays.");
  }
  std::vector<int64_t> dims(known->dims().begin(), known->dims().end());
  dims.insert(dims.begin(), 0);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  context.set_output(0, std::move(output));
  context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>()));
  return {};
}

Status concat_elements(KernelContext& context, const PartialShape& except0) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  std::vector<int64_t> indices(static_cast<size_t>(array->join_size()));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  MR_ASSIGN(const std::vector<Tensor> elements, read_all(*array, indices, context.output_dtype(0)));
  if (elements.empty()) return concat_nothing(context, except0);
  std::vector<int64_t> dims(elements[0].shape().dims().begin(), elements[0].shape().dims().end());
  std::vector<int64_t> lengths;
  int64_t total = 0;
  for (const Tensor& element : elements) {
    if (element.shape().rank() == 0) {
      return invalid("Concat saw a scalar shape at index ", lengths.size(),
                     " but requires at least vectors.  Did you mean to call pack?");
    }
    dims[0] = element.shape().dim(0);
    if (!std::equal(dims.begin(), dims.end(), element.shape().dims().begin(),
                    element.shape().dims().end())) {
      return invalid(
          "TensorArray has inconsistent shapes. Index 0 has (excepting dimension 0) "
          "shape: ",
          elements[0].shape().to_string(), " but index ", lengths.size(),
          " has shape: ", element.shape().to_string());
    }
    lengths.push_back(dims[0]);
    total += dims[0];
  }
  dims[0] = total;
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  copy_all(elements, output);
  context.set_output(0, std::move(output));
  context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>(lengths)));
  return {};
}

// Pieces of these lengths must make up a whole of this shape.
Status check_lengths(std::span<const int64_t> lengths, const Shape& whole) {
  int64_t sum = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return invalid("lengths[", i, "] is ", lengths[i], ", below 0");
    if (lengths[i] > std::numeric_limits<int64_t>::max() - sum) {
      return invalid("the sum of lengths overflows at lengths[", i, "] = ", lengths[i]);
    }
    sum += lengths[i];
  }
  if (sum == whole.dim(0)) return {};
  return invalid("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
                 sum, " and value's shape is: ", whole.to_string());
}

Status split_elements(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  const Tensor& value = context.input(1);
  if (context.input(2).shape().rank() != 1) {
    return invalid("Expected lengths to be a vector, received shape: ",
                   context.input(2).shape().to_string());
  }
  if (value.shape().rank() == 0) {
    return invalid("Expected value to be at least a vector, but received shape: ",
                   value.shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> lengths, read_integers(context.input(2), "lengths"));
  MR_TRY(check_lengths(lengths, value.shape()));
  const auto count = static_cast<int64_t>(lengths.size());
  if (count != array->size() && !(array->options().grows && count > array->size())) {
    return invalid("TensorArray's size is not equal to the size of lengths (", array->size(),
                   " vs. ", count,
                   "), and the TensorArray is not marked as dynamically resizeable");
  }
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    MR_ASSIGN(Tensor rows, own_rows(value, begin, begin + lengths[i]));
    MR_TRY(array->write(static_cast<int64_t>(i), std::move(rows)));
    begin += lengths[i];
  }
  array->note_pieces(array->size());
  set_flow(context, 0);
  return {};
}

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
      "TensorArrayV3", "An array of size tensors, which lives as long as the step.",
      "size: int32 -> handle: resource, flow: float | dtype: type, element_shape: shape = ?, "
      "dynamic_size: bool = false, clear_after_read: bool = true, "
      "identical_element_shapes: bool = false, tensor_array_name: string = ''",
      infer::scalar, kernel_class<ArrayKernel>(), Cost::cheap))));
  MR_TRY(ops.add(with_gradient(
      stateful_op(
          "TensorArrayGradV3",
          "The array of gradients that belongs to an array; source tells those of several losses "
          "apart.",
          "handle: resource, flow_in: float -> grad_handle: resource, flow_out: float | source: "
          "string",
          infer::scalar, kernel_with(find_gradient_array, text("source")), Cost::cheap),
      array_grad_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayWriteV3", "Puts value into the array at index.",
                                "handle: resource, index: int32, value: T, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(write_element), Cost::cheap),
                    array_write_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayReadV3", "The array's element at index.",
                                "handle: resource, index: int32, flow_in: float -> value: dtype | "
                                "dtype: type",
                                infer::unknown, kernel(read_element), Cost::cheap),
                    array_read_gradient)));
  MR_TRY(ops.add(with_gradient(
      stateful_op("TensorArrayGatherV3", "The elements at indices, stacked.",
                  "handle: resource, indices: int32, flow_in: float -> value: dtype | "
                  "dtype: type, element_shape: shape = ?",
                  infer::unknown, kernel_with(gather_elements, partial_shape("element_shape"))),
      array_gather_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArrayScatterV3", "Puts the rows of value at indices.",
                                "handle: resource, indices: int32, value: T, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(scatter_elements)),
                    array_scatter_gradient)));
  MR_TRY(ops.add(with_gradient(
      stateful_op("TensorArrayConcatV3", "All elements one after another along axis 0.",
                  "handle: resource, flow_in: float -> value: dtype, lengths: int64 | "
                  "dtype: type, element_shape_except0: shape = ?",
                  infer_concat,
                  kernel_with(concat_elements, partial_shape("element_shape_except0"))),
      array_concat_gradient)));
  MR_TRY(ops.add(
      with_gradient(stateful_op("TensorArraySplitV3", "Puts pieces of value of the given lengths.",
                                "handle: resource, value: T, lengths: int64, flow_in: float -> "
                                "flow_out: float | T: type",
                                infer::scalar, kernel(split_elements)),
                    array_split_gradient)));
  MR_TRY(
      ops.add(without_gradient(stateful_op("TensorArraySizeV3", "How many elements the array has.",
                                           "handle: resource, flow_in: float -> size: int32",
                                           infer::scalar, kernel(array_size), Cost::cheap))));
  return ops.add(without_gradient(
      stateful_op("TensorArrayCloseV3", "Forgets the array before the step ends.",
                  "handle: resource ->", infer::no_outputs, kernel(close_array), Cost::cheap)));
}

}  // namespace millrace
