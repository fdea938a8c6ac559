#include "millrace/ops/lists/tensor_list.h"

#include <utility>

#include "millrace/ops/loops/arguments.h"
#include "millrace/wire/known_variants.h"

namespace millrace {
namespace {

Status check_is_list(const Variant& variant) {
  if (variant.type_name == TensorList::kTypeName) return {};
  return invalid("Input handle is not a list. Saw: '", variant.type_name.substr(0, 100), "'");
}

Status check_scalar(const KernelContext& context, const Tensor& handle) {
  if (handle.num_elements() == 1) return {};
  return invalid("'", context.node_name(), "': Must be a scalar variant, saw shape ",
                 handle.shape().to_string());
}

Status check_dtype(const KernelContext& context, DType of_list, DType dtype) {
  if (dtype == DType::invalid || of_list == dtype) return {};
  return invalid("'", context.node_name(), "': Invalid data types; op elements ", dtype_name(dtype),
                 " but list elements ", dtype_name(of_list));
}

}  // namespace

Result<TensorList> TensorList::from(Variant variant) {
  MR_TRY(check_is_list(variant));
  MR_ASSIGN(wire::TensorListMetadata metadata, wire::read_list_metadata(variant));
  const std::vector<size_t>& unset = metadata.unset;
  TensorList list{.dtype = metadata.dtype,
                  .element_shape = std::move(metadata.element_shape),
                  .most = metadata.most,
                  .elements = {},
                  .is_all_set = unset.empty()};
  if (list.is_all_set) {
    list.elements = std::move(variant.tensors);
    return list;
  }
  list.elements.resize(variant.tensors.size() + unset.size());
  auto next_unset = unset.begin();
  auto next_set = variant.tensors.begin();
  for (size_t i = 0; i < list.elements.size(); ++i) {
    if (next_unset != unset.end() && *next_unset == i) {
      ++next_unset;
    } else {
      list.elements[i] = std::move(*next_set++);
    }
  }
  return list;
}

Result<Variant> TensorList::to_variant() && {
  Variant variant;
  variant.type_name = kTypeName;
  wire::TensorListMetadata metadata{
      .unset = {}, .dtype = dtype, .most = most, .element_shape = element_shape};
  if (is_all_set) variant.tensors = std::move(elements);
  for (size_t i = 0; !is_all_set && i < elements.size(); ++i) {
    if (elements[i].has_value()) {
      variant.tensors.push_back(std::move(elements[i]));
    } else {
      metadata.unset.push_back(i);
    }
  }
  variant.metadata = wire::list_metadata(metadata);
  if (dtype == DType::variant) MR_TRY(variant.settle());
  return variant;
}

Status TensorList::check_element(size_t index) const {
  return wire::check_list_element(dtype, element_shape, elements[index], index);
}

Status TensorList::check_size(int64_t size) {
  if (size < 0)
    return invalid("The num_elements to reserve must be a non negative number, but got ", size);
  if (size <= kMostElements) return {};
  return error(Code::resource_exhausted, "a tensor list of ", size, " elements; ", kMostElements,
               " are the most that are supported");
}

Result<TensorList> TensorList::take_from(Tensor& handles, size_t place) {
  Variant& held = handles.mutable_flat<Variant>()[place];
  return from(handles.is_sole_owner() ? std::move(held) : held);
}

Result<const std::vector<Tensor>*> TensorList::peek(const KernelContext& context, int slot,
                                                    DType dtype) {
  const Tensor& handle = context.input(slot);
  MR_TRY(check_scalar(context, handle));
  const Variant& variant = handle.item<Variant>();
  MR_TRY(check_is_list(variant));
  MR_ASSIGN(const wire::TensorListMetadata metadata, wire::read_list_metadata(variant));
  MR_TRY(check_dtype(context, metadata.dtype, dtype));
  return metadata.unset.empty() ? &variant.tensors : nullptr;
}

Result<TensorList> TensorList::take(KernelContext& context, int slot, DType dtype) {
  Tensor handle = context.take_input(slot);
  MR_TRY(check_scalar(context, handle));
  MR_ASSIGN(TensorList list, take_from(handle, 0));
  MR_TRY(check_dtype(context, list.dtype, dtype));
  return list;
}

void TensorList::resize(int64_t size) {
  if (size > static_cast<int64_t>(elements.size())) is_all_set = false;
  elements.resize(static_cast<size_t>(size));
}

Status TensorList::put(KernelContext& context, int slot) && {
  MR_ASSIGN(Variant variant, std::move(*this).to_variant());
  context.set_output(slot, Tensor::scalar(std::move(variant)));
  return {};
}

Result<PartialShape> read_element_shape(const Tensor& tensor) {
  if (tensor.shape().rank() > 0) return read_partial_shape(tensor, "element_shape");
  MR_ASSIGN(const int64_t any, read_integer(tensor, "element_shape"));
  if (any == -1) return PartialShape::unknown();
  return invalid("element_shape is the scalar ", any,
                 "; the only scalar that is a shape is -1, which means an unknown one");
}

Result<PartialShape> merge_element_shapes(const PartialShape& a, const PartialShape& b) {
  Result<PartialShape> merged = a.merge(b);
  if (merged.ok()) return merged;
  if (a.rank() != b.rank())
    return invalid("Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  return invalid("Incompatible shapes during merge: ", a.to_string(), " vs. ", b.to_string());
}

Result<PartialShape> without_first_dim(const PartialShape& shape) {
  if (!shape.has_rank()) return shape;
  return PartialShape::create(shape.dims().subspan(1));
}

Result<Shape> shape_of_unset(const TensorList& list, const PartialShape& asked) {
  MR_ASSIGN(PartialShape shape, merge_element_shapes(asked, list.element_shape));
  for (const Tensor& element : list.elements) {
    if (shape.is_fully_known()) break;
    if (element.has_value()) {
      MR_ASSIGN(shape, merge_element_shapes(shape, element.shape()));
    }
  }
  if (const auto known = shape.to_shape()) return *known;
  return invalid("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                 shape.to_string(), " and no list element is set.");
}

}  // namespace millrace
