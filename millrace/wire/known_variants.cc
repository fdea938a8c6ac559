#include "millrace/wire/known_variants.h"

#include <string>

#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"

namespace millrace::wire {
namespace {

Status malformed() { return invalid("the variant of a tensor list has malformed metadata"); }

Result<std::vector<size_t>> read_unset(Reader& reader, const Variant& list) {
  uint64_t count = 0;
  if (!reader.next_varint(&count) || count > list.metadata.size()) return malformed();
  const uint64_t size = list.tensors.size() + count;
  if (size > static_cast<uint64_t>(kMostListElements)) return malformed();
  std::vector<size_t> unset;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index = 0;
    if (!reader.next_varint(&index) || index >= size) return malformed();
    if (!unset.empty() && index <= unset.back()) return malformed();
    unset.push_back(static_cast<size_t>(index));
  }
  return unset;
}

Status check_list(const Variant& list) {
  MR_ASSIGN(const TensorListMetadata metadata, read_list_metadata(list));
  for (size_t i = 0; i < list.tensors.size(); ++i)
    MR_TRY(check_list_element(metadata.dtype, metadata.element_shape, list.tensors[i], i));
  return {};
}

Status check_optional(const Variant& optional) {
  const bool is_known =
      optional.metadata.size() == 1 && static_cast<uint8_t>(optional.metadata[0]) <= 1;
  if (!is_known) {
    return invalid("the metadata of an optional has ", optional.metadata.size(),
                   " bytes; it must be one byte, 1 for a value or 0 for none");
  }
  if (optional.metadata[0] == 1 || optional.tensors.empty()) return {};
  return invalid("an optional says that it holds nothing, and has ", optional.tensors.size(),
                 " components, the first of them ", dtype_name(optional.tensors.front().dtype()));
}

}  // namespace

Result<TensorListMetadata> read_list_metadata(const Variant& list) {
  Reader reader(list.metadata);
  TensorListMetadata metadata;
  MR_ASSIGN(metadata.unset, read_unset(reader, list));
  uint64_t dtype = 0, most = 0;
  if (!reader.next_varint(&dtype) || !reader.next_varint(&most)) return malformed();
  const auto known = dtype_or_ref_from_number(dtype);
  if (!known) return malformed();
  metadata.dtype = *known;
  metadata.most = static_cast<int32_t>(most);
  MR_ASSIGN(metadata.element_shape, read_partial_shape(Reader(reader.remaining())));
  return metadata;
}

std::string list_metadata(const TensorListMetadata& metadata) {
  std::string bytes;
  put_varint(&bytes, metadata.unset.size());
  for (const size_t index : metadata.unset) put_varint(&bytes, index);
  put_varint(&bytes, static_cast<uint64_t>(metadata.dtype));
  put_varint(&bytes, static_cast<uint64_t>(metadata.most));
  put_shape(&bytes, metadata.element_shape);
  return bytes;
}

Status check_list_element(DType dtype, const PartialShape& element_shape, const Tensor& element,
                          size_t index) {
  if (element.dtype() == dtype && element_shape.allows(element.shape())) return {};
  return invalid("a tensor list says that its elements are ", dtype_name(dtype), " of shape ",
                 element_shape.to_string(), ", and number ", index, " of those that are set is ",
                 dtype_name(element.dtype()), " of shape ", element.shape().to_string());
}

Status check_variant(const Variant& variant) {
  if (variant.type_name == kTensorListType) return check_list(variant);
  if (variant.type_name == kOptionalType) return check_optional(variant);
  return {};
}

}  // namespace millrace::wire
