// Part of tensor_fields.h: elements of tensors that are C++ objects: strings, resource handles,
// variants.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/format/shape_codec.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/known_variants.h"
#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {
namespace {

using enum fields::resource_handle_proto::Number;
using enum fields::dtype_and_shape::Number;
using enum fields::variant_tensor_data_proto::Number;

struct Context {
  Budget& budget;
  int depth;
};

Status read_dtype_and_shape(Reader reader, ResourceHandle* handle) {
  DType dtype = DType::invalid;
  PartialShape shape = PartialShape::scalar();
  Field field;
  while (reader.next(&field)) {
    if (field.is(kHandleDtype, WireType::varint)) {
      const auto known = dtype_or_ref_from_number(field.value);
      if (!known)
        return invalid("a resource handle declares dtype number ", field.value,
                       ", which is not known");
      dtype = *known;
    } else if (field.is(kHandleShape, WireType::bytes)) {
      MR_ASSIGN(shape, read_partial_shape(reader.inside(field)));
    }
  }
  handle->dtypes_and_shapes.emplace_back(dtype, std::move(shape));
  return reader.status();
}

Status read_object(Reader reader, const Context&, std::string* out) {
  out->assign(reader.remaining());
  return {};
}

Status read_object(Reader reader, const Context&, ResourceHandle* out) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kHandleHashCode, WireType::varint)) {
      out->hash_code = field.value;
    } else if (field.type != WireType::bytes) {
      continue;
    } else if (field.number == kHandleDevice) {
      out->device = field.bytes;
    } else if (field.number == kHandleContainer) {
      out->container = field.bytes;
    } else if (field.number == kHandleName) {
      out->name = field.bytes;
    } else if (field.number == kHandleTypeName) {
      out->type_name = field.bytes;
    } else if (field.number == kHandleDtypesAndShapes) {
      MR_TRY(read_dtype_and_shape(reader.inside(field), out));
    }
  }
  return reader.status();
}

Status read_object(Reader reader, const Context& context, Variant* out) {
  Field field;
  while (reader.next(&field)) {
    if (field.type != WireType::bytes) continue;
    if (field.number == kVariantTypeName) {
      out->type_name = field.bytes;
    } else if (field.number == kVariantMetadata) {
      out->metadata = field.bytes;
    } else if (field.number == kVariantTensors) {
      MR_ASSIGN(Tensor tensor,
                read_tensor(reader.inside(field), context.budget, context.depth + 1));
      out->tensors.push_back(std::move(tensor));
    }
  }
  MR_TRY(reader.status());
  MR_TRY(check_variant(*out));
  return out->settle();
}

std::string encode_object(const ResourceHandle& value) {
  std::string out;
  put_bytes_field(&out, kHandleDevice, value.device);
  put_bytes_field(&out, kHandleContainer, value.container);
  put_bytes_field(&out, kHandleName, value.name);
  put_varint_field(&out, kHandleHashCode, value.hash_code);
  put_bytes_field(&out, kHandleTypeName, value.type_name);
  for (const auto& [dtype, shape] : value.dtypes_and_shapes) {
    const NestedField nested(&out, kHandleDtypesAndShapes);
    put_varint_field(&out, kHandleDtype, static_cast<uint64_t>(dtype));
    put_shape(&out, kHandleShape, shape);
  }
  return out;
}

std::string encode_object(const Variant& value) {
  std::string out;
  put_bytes_field(&out, kVariantTypeName, value.type_name);
  put_bytes_field(&out, kVariantMetadata, value.metadata);
  for (const Tensor& tensor : value.tensors)
    put_bytes_field(&out, kVariantTensors, encode_tensor_bytes(tensor));
  return out;
}

// Calls `visit` with the elements of a tensor that is not plain.
template <class Visit>
auto visit_objects(const Tensor& tensor, Visit visit) {
  switch (tensor.dtype()) {
    case DType::resource:
      return visit(tensor.flat<ResourceHandle>());
    case DType::variant:
      return visit(tensor.flat<Variant>());
    default:
      return visit(tensor.flat<std::string>());
  }
}
template <class Visit>
Status fill_objects(Tensor* tensor, Visit visit) {
  switch (tensor->dtype()) {
    case DType::resource:
      return visit(tensor->mutable_flat<ResourceHandle>());
    case DType::variant:
      return visit(tensor->mutable_flat<Variant>());
    default:
      return visit(tensor->mutable_flat<std::string>());
  }
}

}  // namespace

int object_list_field(DType dtype) {
  switch (dtype) {
    case DType::resource:
      return kResourceHandleVal;
    case DType::variant:
      return kVariantVal;
    default:
      return kStringVal;
  }
}

Status read_raw_objects(Reader content, Budget& budget, int depth, Tensor* tensor) {
  return fill_objects(tensor, [&](auto elements) -> Status {
    Reader lengths = content;
    size_t total = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      uint64_t length;
      if (!lengths.next_varint(&length)) {
        return invalid("the content has ", content.remaining().size(),
                       " bytes and ends before length ", i, " of ", elements.size());
      }
      if (__builtin_add_overflow(total, length, &total))
        return invalid("length ", i, " in the content is ", length);
    }
    const std::string_view rest = lengths.remaining();
    if (total != rest.size()) {
      return invalid("the lengths in the content add up to ", total, " bytes; ", rest.size(),
                     " follow them");
    }
    lengths = content;
    size_t offset = 0;
    for (auto& element : elements) {
      uint64_t length = 0;
      lengths.next_varint(&length);
      MR_TRY(read_object(Reader(rest.substr(offset, length)), Context{budget, depth}, &element));
      offset += length;
    }
    return {};
  });
}

Status read_listed_objects(Reader message, Budget& budget, int depth, Tensor* tensor) {
  const auto list_field = static_cast<uint32_t>(object_list_field(tensor->dtype()));
  return fill_objects(tensor, [&](auto elements) -> Status {
    size_t filled = 0;
    Field field;
    while (filled < elements.size() && message.next(&field)) {
      if (!field.is(list_field, WireType::bytes)) continue;
      MR_TRY(read_object(message.inside(field), Context{budget, depth}, &elements[filled++]));
    }
    MR_TRY(message.status());
    // Only strings repeat; missing handles and variants are default ones.
    if constexpr (std::is_same_v<typename decltype(elements)::value_type, std::string>) {
      if (filled > 0 && filled < elements.size()) {
        const std::string& last = elements[filled - 1];
        MR_TRY(
            budget.take(elements.size() - filled, last.size()).with("repeating the last string"));
        std::fill(elements.begin() + static_cast<std::ptrdiff_t>(filled), elements.end(), last);
      }
    }
    return {};
  });
}

std::string encode_raw_objects(const Tensor& tensor) {
  return visit_objects(tensor, [](auto elements) {
    std::string out;
    using Element = typename decltype(elements)::value_type;
    if constexpr (std::is_same_v<Element, const std::string> ||
                  std::is_same_v<Element, std::string>) {
      size_t total = 0;
      for (const std::string& element : elements)
        total += varint_size(element.size()) + element.size();
      out.reserve(total);
      for (const std::string& element : elements) put_varint(&out, element.size());
      for (const std::string& element : elements) out += element;
    } else {
      std::string bodies;
      for (const auto& element : elements) {
        const std::string body = encode_object(element);
        put_varint(&out, body.size());
        bodies += body;
      }
      out += bodies;
    }
    return out;
  });
}

}  // namespace millrace::wire
