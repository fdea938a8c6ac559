#include "millrace/ops/tensor_list.h"

#include <utility>

#include "millrace/ops/arguments.h"
#include "millrace/wire/shape_codec.h"
#include "millrace/wire/wire_format.h"

namespace millrace {
namespace {

Status malformed() { return invalid("the variant of a tensor list has malformed metadata"); }

}  // namespace

Result<TensorList> TensorList::from(Variant variant) {
  if (variant.type_name != kTypeName) {
    return invalid("Input handle is not a list. Saw: '", variant.type_name.substr(0, 100), "'");
  }
  wire::Reader reader(variant.metadata);
  uint64_t num_unset = 0;
  if (!reader.next_varint(&num_unset) || num_unset > variant.metadata.size()) return malformed();
  TensorList list;
  const size_t size = variant.tensors.size() + static_cast<size_t>(num_unset);
  if (size > static_cast<size_t>(kMostElements)) return malformed();
  list.elements.resize(size);
  size_t next = 0;  // the element to be set
  size_t taken = 0;
  const auto set_up_to = [&](uint64_t end) {
    for (; next < end && taken < variant.tensors.size(); ++next) {
      list.elements[next] = std::move(variant.tensors[taken++]);
    }
    return next == end;
  };
  for (uint64_t i = 0; i < num_unset; ++i) {
    uint64_t index = 0;
    if (!reader.next_varint(&index) || index >= size || index < next || !set_up_to(index)) {
      return malformed();
    }
    ++next;
  }
  if (!set_up_to(size)) return malformed();
  uint64_t dtype = 0, most = 0;
  if (!reader.next_varint(&dtype) || !reader.next_varint(&most)) return malformed();
  const auto known = wire::dtype_or_ref_from_number(dtype);
  if (!known) return malformed();
  list.dtype = *known;
  list.most = static_cast<int32_t>(most);
  MR_ASSIGN(list.element_shape, wire::read_partial_shape(wire::Reader(reader.remaining())));
  return list;
}

Result<Variant> TensorList::to_variant() && {
  Variant variant;
  variant.type_name = kTypeName;
  std::string unset;
  uint64_t num_unset = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].has_value()) {
      variant.tensors.push_back(std::move(elements[i]));
    } else {
      wire::put_varint(&unset, i);
      ++num_unset;
    }
  }
  wire::put_varint(&variant.metadata, num_unset);
  variant.metadata += unset;
  wire::put_varint(&variant.metadata, static_cast<uint64_t>(dtype));
  wire::put_varint(&variant.metadata, static_cast<uint64_t>(most));
  wire::put_shape(&variant.metadata, element_shape);
  MR_TRY(variant.settle());
  return variant;
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

Result<TensorList> TensorList::take(KernelContext& context, int slot, DType dtype) {
  Tensor handle = context.take_input(slot);
  if (handle.num_elements() != 1) {
    return invalid("'", context.node_name(), "': Must be a scalar variant, saw shape ",
                   handle.shape().to_string());
  }
  MR_ASSIGN(TensorList list, take_from(handle, 0));
  if (dtype == DType::invalid || list.dtype == dtype) return list;
  return invalid("'", context.node_name(), "': Invalid data types; op elements ", dtype_name(dtype),
                 " but list elements ", dtype_name(list.dtype));
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
