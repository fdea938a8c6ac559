#include "millrace/ops/tensor_lists.h"

#include <algorithm>
#include <optional>

#include "millrace/op/infer.h"
#include "millrace/ops/arguments.h"
#include "millrace/ops/strided_copy.h"
#include "millrace/ops/tensor_list.h"

namespace millrace {
namespace {

Status check_size(int64_t size) {
  if (size < 0)
    return invalid("The num_elements to reserve must be a non negative number, but got ", size);
  if (size <= TensorList::kMostElements) return {};
  return error(Code::resource_exhausted, "a tensor list of ", size, " elements; ",
               TensorList::kMostElements, " are the most that are supported");
}

Status check_element(const TensorList& list, const Tensor& element, std::string_view verb) {
  if (list.element_shape.allows(element.shape())) return {};
  return invalid("Tried to ", verb,
                 " a tensor with incompatible shape to a list. Op element shape: ",
                 element.shape().to_string(), " list shape: ", list.element_shape.to_string());
}

// An element, or zeros if it is not set.
Result<Tensor> element_of(const TensorList& list, int64_t index, const PartialShape& asked) {
  const Tensor& element = list.elements[static_cast<size_t>(index)];
  if (!element.has_value()) {
    MR_ASSIGN(const Shape shape, shape_of_unset(list, asked));
    return Tensor::zeros(list.dtype, shape);
  }
  if (asked.allows(element.shape())) return element;
  return invalid("Incompatible shapes: an element has ", element.shape().to_string(),
                 ", and element_shape is ", asked.to_string());
}

// The elements of the given indices as one tensor, along a new first axis.
Result<Tensor> stacked(const TensorList& list, std::span<const int64_t> indices,
                       const PartialShape& asked) {
  if (indices.empty()) {
    MR_ASSIGN(const PartialShape shape, list.element_shape.merge(asked));
    const auto known = shape.to_shape();
    if (!known) {
      return invalid(
          "Tried to stack elements of an empty list with non-fully-defined "
          "element_shape: ",
          shape.to_string());
    }
    std::vector<int64_t> dims(known->dims().begin(), known->dims().end());
    dims.insert(dims.begin(), 0);
    MR_ASSIGN(const Shape none, Shape::create(dims));
    return Tensor::allocate(list.dtype, none);
  }
  std::optional<Tensor> made;
  std::vector<int64_t> dims;
  const int64_t unit = 1;
  int64_t begin = 0;
  for (int64_t index : indices) {
    if (index < 0 || index >= static_cast<int64_t>(list.elements.size())) {
      return invalid("Trying to gather element ", index, " in a list with ", list.elements.size(),
                     " elements.");
    }
    MR_ASSIGN(const Tensor element, element_of(list, index, asked));
    if (!made) {
      dims.assign(element.shape().dims().begin(), element.shape().dims().end());
      dims.insert(dims.begin(), static_cast<int64_t>(indices.size()));
      MR_ASSIGN(const Shape shape, Shape::create(dims));
      MR_ASSIGN(made, Tensor::allocate(list.dtype, shape));
    } else if (!std::ranges::equal(element.shape().dims(), std::span(dims).subspan(1))) {
      return invalid("Tried to stack list which contains elements of different shapes, among them ",
                     element.shape().to_string());
    }
    const int64_t count = element.num_elements();
    if (count > 0) copy_box({&count, 1}, element, {0, {&unit, 1}}, *made, {begin, {&unit, 1}});
    begin += count;
  }
  return *std::move(made);
}

Result<std::vector<Tensor>> rows_of(const Tensor& tensor, const PartialShape& element_shape) {
  if (tensor.shape().rank() < 1)
    return invalid("Tensor must be at least a vector, but saw shape: ", tensor.shape().to_string());
  MR_TRY(check_size(tensor.shape().dim(0)));
  MR_ASSIGN(const Shape shape, Shape::create(tensor.shape().dims().subspan(1)));
  if (!element_shape.allows(shape)) {
    return invalid("Specified a list with shape ", element_shape.to_string(),
                   " from a tensor with shape ", shape.to_string());
  }
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < tensor.shape().dim(0); ++i) {
    MR_ASSIGN(const Tensor row, tensor.rows(i, i + 1));
    MR_ASSIGN(Tensor element, row.reshaped(shape));
    rows.push_back(std::move(element));
  }
  return rows;
}

// A kernel that is told the dtype of elements, invalid if the node does not say.
KernelFactory list_kernel(Status (*run)(KernelContext&, DType)) {
  return [run](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    const AttrValue* value = spec.attrs.find("element_dtype");
    const DType dtype = value && value->as_type() ? *value->as_type() : DType::invalid;
    return kernel([run, dtype](KernelContext& context) { return run(context, dtype); })(spec);
  };
}

Status empty_list(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(0)));
  MR_ASSIGN(list.most, read_integer(context.input(1), "max_num_elements"));
  std::move(list).put(context, 0);
  return {};
}

Status reserve(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(0)));
  MR_ASSIGN(const int64_t size, read_integer(context.input(1), "num_elements"));
  MR_TRY(check_size(size));
  list.elements.resize(static_cast<size_t>(size));
  std::move(list).put(context, 0);
  return {};
}

Status from_tensor(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(1)));
  MR_ASSIGN(list.elements, rows_of(context.input(0), list.element_shape));
  std::move(list).put(context, 0);
  return {};
}

Status scatter(KernelContext& context, DType dtype) {
  MR_ASSIGN(const auto indices, read_integers(context.input(1), "indices"));
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(2)));
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(3), "num_elements"));
  MR_ASSIGN(std::vector<Tensor> rows, rows_of(context.input(0), list.element_shape));
  if (rows.size() < indices.size()) {
    return invalid("Expected len(indices) <= tensor.shape[0], but saw: ", indices.size(), " and ",
                   rows.size());
  }
  int64_t size = std::max<int64_t>(wanted, 0);
  for (int64_t index : indices) {
    if (index < 0) return invalid("Indices in TensorListScatter must all be non-negative.");
    if (wanted >= 0 && index >= wanted) {
      return invalid("TensorListScatter: Trying to scatter at index ", index, " in list with size ",
                     wanted);
    }
    size = std::max(size, index + 1);
  }
  MR_TRY(check_size(size));
  list.elements.resize(static_cast<size_t>(size));
  for (size_t i = 0; i < indices.size(); ++i)
    list.elements[static_cast<size_t>(indices[i])] = std::move(rows[i]);
  std::move(list).put(context, 0);
  return {};
}

Status push_back(KernelContext& context, DType dtype) {
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  MR_TRY(check_element(list, context.input(1), "append"));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (list.most >= 0 && size >= list.most) {
    return invalid("Tried to push item into a full list list size: ", size,
                   " max_num_elements: ", list.most);
  }
  MR_TRY(check_size(size + 1));
  list.elements.push_back(context.take_input(1));
  std::move(list).put(context, 0);
  return {};
}

Status pop_back(KernelContext& context, DType dtype) {
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(1)));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  if (list.elements.empty()) return invalid("Trying to pop from an empty list.");
  MR_ASSIGN(Tensor last, element_of(list, static_cast<int64_t>(list.elements.size()) - 1, asked));
  list.elements.pop_back();
  std::move(list).put(context, 0);
  context.set_output(1, std::move(last));
  return {};
}

enum class Beyond : uint8_t { is_error, grows };

Status set_item(KernelContext& context, DType dtype, Beyond beyond) {
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "index"));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (index < 0 || (index >= size && beyond == Beyond::is_error)) {
    return invalid("Trying to modify element ", index, " in a list with ", size, " elements.");
  }
  MR_TRY(check_element(list, context.input(2), "set"));
  MR_TRY(check_size(index + 1));
  if (index >= size) list.elements.resize(static_cast<size_t>(index) + 1);
  list.elements[static_cast<size_t>(index)] = context.take_input(2);
  std::move(list).put(context, 0);
  return {};
}

KernelFactory set_item_kernel() {
  return [](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const DType dtype, spec.attrs.type("element_dtype"));
    MR_ASSIGN(const bool grows, spec.attrs.boolean("resize_if_index_out_of_bounds"));
    const Beyond beyond = grows ? Beyond::grows : Beyond::is_error;
    return kernel(
        [dtype, beyond](KernelContext& context) { return set_item(context, dtype, beyond); })(spec);
  };
}

Status get_item(KernelContext& context, DType dtype) {
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "index"));
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(2)));
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  if (index < 0 || index >= static_cast<int64_t>(list.elements.size())) {
    return invalid("Trying to access element ", index, " in a list with ", list.elements.size(),
                   " elements.");
  }
  MR_ASSIGN(Tensor element, element_of(list, index, asked));
  context.set_output(0, std::move(element));
  return {};
}

Status stack(KernelContext& context, DType dtype, int64_t wanted) {
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(1)));
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (wanted >= 0 && wanted != size) {
    return invalid("Operation expected a list with ", wanted, " elements but got a list with ",
                   size, " elements.");
  }
  std::vector<int64_t> all;
  for (int64_t i = 0; i < size; ++i) all.push_back(i);
  MR_ASSIGN(Tensor made, stacked(list, all, asked));
  context.set_output(0, std::move(made));
  return {};
}

KernelFactory stack_kernel() {
  return [](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const DType dtype, spec.attrs.type("element_dtype"));
    MR_ASSIGN(const int64_t wanted, spec.attrs.integer("num_elements"));
    return kernel(
        [dtype, wanted](KernelContext& context) { return stack(context, dtype, wanted); })(spec);
  };
}

Status gather(KernelContext& context, DType dtype) {
  MR_ASSIGN(const auto indices, read_integers(context.input(1), "indices"));
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(2)));
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  MR_ASSIGN(Tensor made, stacked(list, indices, asked));
  context.set_output(0, std::move(made));
  return {};
}

Status length(KernelContext& context, DType) {
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, DType::invalid));
  context.set_output(0, Tensor::scalar(static_cast<int32_t>(list.elements.size())));
  return {};
}

Status resize(KernelContext& context, DType) {
  MR_ASSIGN(const int64_t size, read_integer(context.input(1), "size"));
  MR_TRY(check_size(size));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, DType::invalid));
  list.elements.resize(static_cast<size_t>(size));
  std::move(list).put(context, 0);
  return {};
}

Status element_shape(KernelContext& context, DType) {
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, DType::invalid));
  const PartialShape& shape = list.element_shape;
  std::vector<int64_t> dims = {-1};
  if (shape.has_rank()) dims.assign(shape.dims().begin(), shape.dims().end());
  const Shape of_dims = shape.has_rank() ? Shape{static_cast<int64_t>(dims.size())} : Shape();
  MR_ASSIGN(Tensor made, integer_tensor(context.output_dtype(0), of_dims, dims));
  context.set_output(0, std::move(made));
  return {};
}

// The handle is a scalar; of what comes out of a list nothing is known.
Status infer_handle(InferContext& context) {
  context.set_output(0, PartialShape::scalar());
  return {};
}

OpDef list_op(std::string name, std::string doc, std::string signature, InferFn infer,
              KernelFactory cpu) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = std::move(infer),
          .cpu = std::move(cpu),
          .foldable = false};
}

Status register_makers(OpRegistry& ops) {
  const std::string typed = "element_dtype: type, shape_type: {int32, int64}";
  MR_TRY(ops.add(
      list_op("EmptyTensorList", "A list without elements.",
              "element_shape: shape_type, max_num_elements: int32 -> handle: variant | " + typed,
              infer_handle, list_kernel(empty_list))));
  MR_TRY(ops.add(
      list_op("TensorListReserve", "A list of elements that are not set.",
              "element_shape: shape_type, num_elements: int32 -> handle: variant | " + typed,
              infer_handle, list_kernel(reserve))));
  MR_TRY(ops.add(list_op("TensorListFromTensor", "The rows of a tensor as a list.",
                         "tensor: element_dtype, element_shape: shape_type -> "
                         "output_handle: variant | " +
                             typed,
                         infer_handle, list_kernel(from_tensor))));
  return ops.add(list_op("TensorListScatterV2",
                         "A list with the rows of a tensor at the places that indices say.",
                         "tensor: element_dtype, indices: int32, element_shape: shape_type, "
                         "num_elements: int32 -> output_handle: variant | " +
                             typed,
                         infer_handle, list_kernel(scatter)));
}

Status register_accesses(OpRegistry& ops) {
  MR_TRY(ops.add(list_op("TensorListPushBack", "The list with one more element.",
                         "input_handle: variant, tensor: element_dtype -> output_handle: variant | "
                         "element_dtype: type",
                         infer_handle, list_kernel(push_back))));
  MR_TRY(
      ops.add(list_op("TensorListPopBack", "The list without its last element, and that element.",
                      "input_handle: variant, element_shape: int32 -> output_handle: variant, "
                      "tensor: element_dtype | element_dtype: type",
                      infer_handle, list_kernel(pop_back))));
  MR_TRY(ops.add(list_op("TensorListSetItem", "The list with another element at index.",
                         "input_handle: variant, index: int32, item: element_dtype -> "
                         "output_handle: variant | element_dtype: type, "
                         "resize_if_index_out_of_bounds: bool = false",
                         infer_handle, set_item_kernel())));
  MR_TRY(ops.add(list_op("TensorListGetItem", "The element at index; zeros if it is not set.",
                         "input_handle: variant, index: int32, element_shape: Tshape -> "
                         "item: element_dtype | element_dtype: type, "
                         "Tshape: {int32, int64} = int32",
                         infer::unknown, list_kernel(get_item))));
  MR_TRY(ops.add(list_op("TensorListStack", "All elements as one tensor, along a new first axis.",
                         "input_handle: variant, element_shape: int32 -> tensor: element_dtype | "
                         "element_dtype: type, num_elements: int = -1",
                         infer::unknown, stack_kernel())));
  MR_TRY(ops.add(list_op("TensorListGather", "Some elements as one tensor, along a new first axis.",
                         "input_handle: variant, indices: int32, element_shape: int32 -> "
                         "values: element_dtype | element_dtype: type",
                         infer::unknown, list_kernel(gather))));
  MR_TRY(ops.add(list_op("TensorListLength", "How many elements a list has.",
                         "input_handle: variant -> length: int32", infer::scalar,
                         list_kernel(length))));
  MR_TRY(ops.add(list_op("TensorListResize", "The list with more elements, not set, or fewer.",
                         "input_handle: variant, size: int32 -> output_handle: variant",
                         infer_handle, list_kernel(resize))));
  return ops.add(list_op("TensorListElementShape",
                         "The shape that all elements have, -1 if unknown.",
                         "input_handle: variant -> element_shape: shape_type | "
                         "shape_type: {int32, int64}",
                         infer::unknown, list_kernel(element_shape)));
}

}  // namespace

Status register_tensor_lists(OpRegistry& ops) {
  MR_TRY(register_makers(ops));
  return register_accesses(ops);
}

}  // namespace millrace
