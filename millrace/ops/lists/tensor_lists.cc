// Part of families.h: register_tensor_lists.
#include <algorithm>
#include <iterator>

#include "millrace/ops/lists/families.h"
#include "millrace/ops/lists/tensor_list_ops.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

Status check_element(const TensorList& list, const Tensor& element, std::string_view verb) {
  if (list.element_shape.allows(element.shape())) return {};
  return invalid("Tried to ", verb,
                 " a tensor with incompatible shape to a list. Op element shape: ",
                 element.shape().to_string(), " list shape: ", list.element_shape.to_string());
}

// An element, or zeros if it is not set. One that is set is as it is, whatever shape is asked for:
// as TensorFlow's.
Result<Tensor> element_of(const TensorList& list, int64_t index, const PartialShape& asked) {
  const Tensor& element = list.elements[static_cast<size_t>(index)];
  if (!element.has_value()) {
    MR_ASSIGN(const Shape shape, shape_of_unset(list, asked));
    return Tensor::zeros(list.dtype, shape);
  }
  MR_TRY(list.check_element(static_cast<size_t>(index)));
  return element;
}

Status empty_list(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(0)));
  MR_ASSIGN(list.most, read_integer(context.input(1), "max_num_elements"));
  return std::move(list).put(context, 0);
}

Status reserve(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(0)));
  MR_ASSIGN(const int64_t size, read_integer(context.input(1), "num_elements"));
  MR_TRY(TensorList::check_size(size));
  list.resize(size);
  return std::move(list).put(context, 0);
}

Status push_back(KernelContext& context, DType dtype) {
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  MR_TRY(check_element(list, context.input(1), "append"));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (list.most >= 0 && size >= list.most) {
    return invalid("Tried to push item into a full list list size: ", size,
                   " max_num_elements: ", list.most);
  }
  MR_TRY(TensorList::check_size(size + 1));
  list.elements.push_back(context.take_input(1));
  return std::move(list).put(context, 0);
}

// As TensorFlow's, this asks no other element for the shape of one that is not set.
Result<Tensor> last_of(const TensorList& list, const PartialShape& asked) {
  if (list.elements.back().has_value())
    return element_of(list, static_cast<int64_t>(list.elements.size()) - 1, asked);
  MR_ASSIGN(const PartialShape shape, merge_element_shapes(asked, list.element_shape));
  if (const auto known = shape.to_shape()) return Tensor::zeros(list.dtype, *known);
  return invalid("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                 shape.to_string());
}

Status pop_back(KernelContext& context, DType dtype) {
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(1)));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  if (list.elements.empty()) return invalid("Trying to pop from an empty list.");
  MR_ASSIGN(Tensor last, last_of(list, asked));
  list.elements.pop_back();
  MR_TRY(std::move(list).put(context, 0));
  context.set_output(1, std::move(last));
  return {};
}

Status set_item(KernelContext& context, DType dtype, bool grows) {
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "index"));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (index < 0 || (index >= size && !grows)) {
    return invalid("Trying to modify element ", index, " in a list with ", size, " elements.");
  }
  MR_TRY(check_element(list, context.input(2), "set"));
  MR_TRY(TensorList::check_size(index + 1));
  if (index >= size) list.resize(index + 1);
  list.elements[static_cast<size_t>(index)] = context.take_input(2);
  return std::move(list).put(context, 0);
}

Result<Tensor> get_item(KernelContext& context, DType dtype) {
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "index"));
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(2)));
  MR_ASSIGN(const auto* elements, TensorList::peek(context, 0, dtype));
  if (elements != nullptr && index >= 0 && index < static_cast<int64_t>(elements->size())) {
    const Tensor& element = (*elements)[static_cast<size_t>(index)];
    if (element.dtype() == dtype && asked.allows(element.shape())) return element;
  }
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  if (index < 0 || index >= static_cast<int64_t>(list.elements.size())) {
    return invalid("Trying to access element ", index, " in a list with ", list.elements.size(),
                   " elements.");
  }
  // Only what the list says of its elements must fit what is asked for.
  MR_TRY(merge_element_shapes(asked, list.element_shape).status());
  return element_of(list, index, asked);
}

Result<Tensor> length(KernelContext& context, DType) {
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, DType::invalid));
  return Tensor::scalar(static_cast<int32_t>(list.elements.size()));
}

Status resize(KernelContext& context, DType) {
  MR_ASSIGN(const int64_t size, read_integer(context.input(1), "size"));
  if (size < 0) return invalid("TensorListSlice expects size to be non-negative. Got: ", size);
  MR_TRY(TensorList::check_size(size));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, DType::invalid));
  list.resize(size);
  return std::move(list).put(context, 0);
}

Result<Tensor> element_shape(KernelContext& context, DType) {
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, DType::invalid));
  const PartialShape& shape = list.element_shape;
  std::vector<int64_t> dims = {-1};
  if (shape.has_rank()) dims.assign(shape.dims().begin(), shape.dims().end());
  const Shape of_dims = shape.has_rank() ? Shape{static_cast<int64_t>(dims.size())} : Shape();
  return integer_tensor(context.output_dtype(0), of_dims, dims);
}

// Lists element by element: the elements of b come after those of a.
Result<Tensor> concat_lists(KernelContext& context, DType dtype) {
  const Shape shape = context.input(0).shape();
  if (shape != context.input(1).shape()) {
    return invalid("Incompatible input TensorList tensor shapes: ", shape.to_string(), " vs. ",
                   context.input(1).shape().to_string());
  }
  Tensor firsts = context.take_input(0), seconds = context.take_input(1);
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, shape));
  for (size_t i = 0; i < static_cast<size_t>(shape.num_elements()); ++i) {
    MR_ASSIGN(TensorList a, TensorList::take_from(firsts, i));
    MR_ASSIGN(TensorList b, TensorList::take_from(seconds, i));
    for (const auto& [name, list] : {std::pair{"input_a", &a}, std::pair{"input_b", &b}}) {
      if (list->dtype == dtype) continue;
      return invalid(name, "[", i, "].dtype != element_dtype.  Saw: ", dtype_name(list->dtype),
                     " vs. ", dtype_name(dtype));
    }
    if (a.element_shape != b.element_shape) {
      return invalid("input_a and input_b TensorList element shapes are not identical at index ", i,
                     ".  Saw ", a.element_shape.to_string(), " vs. ", b.element_shape.to_string());
    }
    MR_TRY(TensorList::check_size(static_cast<int64_t>(a.elements.size() + b.elements.size())));
    std::ranges::move(b.elements, std::back_inserter(a.elements));
    a.is_all_set = a.is_all_set && b.is_all_set;
    MR_ASSIGN(made.mutable_flat<Variant>()[i], std::move(a).to_variant());
  }
  return made;
}

Status register_makers(OpRegistry& ops) {
  const std::string types(kListTypes);
  MR_TRY(ops.add(
      list_op("EmptyTensorList", "A list without elements.",
              "element_shape: shape_type, max_num_elements: int32 -> handle: variant | " + types,
              infer_list, list_kernel(empty_list))));
  return ops.add(
      list_op("TensorListReserve", "A list of elements that are not set.",
              "element_shape: shape_type, num_elements: int32 -> handle: variant | " + types,
              infer_list, list_kernel(reserve)));
}

Status register_accesses(OpRegistry& ops) {
  MR_TRY(ops.add(list_op("TensorListPushBack", "The list with one more element.",
                         "input_handle: variant, tensor: element_dtype -> output_handle: variant | "
                         "element_dtype: type",
                         infer_list, list_kernel(push_back))));
  MR_TRY(
      ops.add(list_op("TensorListPopBack", "The list without its last element, and that element.",
                      "input_handle: variant, element_shape: int32 -> output_handle: variant, "
                      "tensor: element_dtype | element_dtype: type",
                      infer_list, list_kernel(pop_back))));
  MR_TRY(ops.add(list_op(
      "TensorListSetItem", "The list with another element at index.",
      "input_handle: variant, index: int32, item: element_dtype -> "
      "output_handle: variant | element_dtype: type, "
      "resize_if_index_out_of_bounds: bool = false",
      infer_list,
      kernel_with(set_item, type("element_dtype"), boolean("resize_if_index_out_of_bounds")))));
  MR_TRY(ops.add(list_op("TensorListGetItem", "The element at index; zeros if it is not set.",
                         "input_handle: variant, index: int32, element_shape: Tshape -> "
                         "item: element_dtype | element_dtype: type, "
                         "Tshape: {int32, int64} = int32",
                         infer::unknown, list_kernel(get_item))));
  MR_TRY(ops.add(list_op("TensorListLength", "How many elements a list has.",
                         "input_handle: variant -> length: int32", infer::scalar,
                         list_kernel(length))));
  MR_TRY(ops.add(list_op("TensorListResize", "The list with more elements, not set, or fewer.",
                         "input_handle: variant, size: int32 -> output_handle: variant", infer_list,
                         list_kernel(resize))));
  MR_TRY(ops.add(list_op("TensorListConcatLists", "The elements of two lists, one after the other.",
                         "input_a: variant, input_b: variant -> output: variant | "
                         "element_dtype: type",
                         infer::same_as_input, list_kernel(concat_lists))));
  return ops.add(list_op("TensorListElementShape",
                         "The shape that all elements have, -1 if unknown.",
                         "input_handle: variant -> element_shape: shape_type | "
                         "shape_type: {int32, int64}",
                         infer::unknown, list_kernel(element_shape)));
}

}  // namespace

OpDef list_op(std::string name, std::string doc, std::string signature, InferFn infer,
              KernelFactory cpu) {
  return with_gradient({.name = std::move(name),
                        .doc = std::move(doc),
                        .signature = std::move(signature),
                        .infer = std::move(infer),
                        .cpu = std::move(cpu),
                        .foldable = false});
}

Result<DType> ElementType::read(const KernelSpec& spec) const {
  const AttrValue* value = spec.attrs.find("element_dtype");
  return value != nullptr && value->as_type() ? *value->as_type() : DType::invalid;
}

Status infer_list(InferContext& context) {
  context.set_output(0, PartialShape::scalar());
  return {};
}

Status register_tensor_lists(OpRegistry& ops) {
  MR_TRY(ops.add_variant(tensor_list_type()));
  MR_TRY(register_makers(ops));
  MR_TRY(register_accesses(ops));
  MR_TRY(register_list_rows(ops));
  return register_list_joins(ops);
}

}  // namespace millrace
