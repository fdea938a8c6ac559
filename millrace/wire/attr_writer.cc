// Part of attr_codec.h: from attribute values to bytes.
#include "millrace/format/shape_codec.h"
#include "millrace/wire/attr_codec.h"
#include "millrace/wire/field_numbers.h"

namespace millrace::wire {
namespace {

using enum fields::attr_value::Number;
using enum fields::list_value::Number;
using enum fields::name_attr_list::Number;
using enum fields::map_entry::Number;

void put_func(std::string* out, int number, const FunctionRef& func) {
  const NestedField nested(out, number);
  put_bytes_field(out, kFuncName, func.name);
  for (const auto& [name, value] : func.attrs) put_attr_entry(out, kFuncAttr, name, value);
}

void put_tensor(std::string* out, int number, const Tensor& tensor) {
  const NestedField nested(out, number, tensor.num_bytes() + 16);
  put_tensor_head(out, tensor);
  std::string scratch;
  const std::string_view content = tensor_content(tensor, &scratch);
  if (tensor.has_value()) put_bytes_field(out, kTensorContent, content);
}

void put_element(std::string* out, const std::string& value) {
  put_bytes_field(out, kString, value);
}
void put_element(std::string* out, const PartialShape& value) { put_shape(out, kShape, value); }
void put_element(std::string* out, const Tensor& value) { put_tensor(out, kAttrTensor, value); }
void put_element(std::string* out, const FunctionRef& value) { put_func(out, kListFunc, value); }

template <class T>
void put_list_items(std::string* out, const std::vector<T>& items) {
  for (const T& item : items) put_element(out, item);
}
void put_list_items(std::string* out, const std::vector<float>& items) {
  if (items.empty()) return;
  put_bytes_field(out, kFloat,
                  {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(float)});
}
template <class T, class Number>
void put_packed(std::string* out, int number, const std::vector<T>& items, Number to_number) {
  if (items.empty()) return;
  const NestedField nested(out, number);
  for (const T item : items) put_varint(out, to_number(item));
}
void put_list_items(std::string* out, const std::vector<int64_t>& items) {
  put_packed(out, kInt, items, [](int64_t item) { return static_cast<uint64_t>(item); });
}
void put_list_items(std::string* out, const std::vector<bool>& items) {
  put_packed(out, kBool, items, [](bool item) { return uint64_t{item}; });
}
void put_list_items(std::string* out, const std::vector<DType>& items) {
  put_packed(out, kType, items, [](DType item) { return static_cast<uint64_t>(item); });
}

}  // namespace

void put_attr_value(std::string* out, int number, const AttrValue& value) {
  const NestedField nested(out, number, expected_attr_bytes(value));
  if (const auto* text = value.as_string()) return put_bytes_field(out, kString, *text);
  if (const auto* whole = value.as_int())
    return put_varint_field(out, kInt, static_cast<uint64_t>(*whole));
  if (const auto* real = value.as_float()) return put_float_field(out, kFloat, *real);
  if (const auto* flag = value.as_bool()) return put_varint_field(out, kBool, *flag);
  if (const auto* type = value.as_type())
    return put_varint_field(out, kType, static_cast<uint64_t>(*type));
  if (const auto* shape = value.as_shape()) return put_shape(out, kShape, *shape);
  if (const auto* tensor = value.as_tensor()) return put_tensor(out, kAttrTensor, *tensor);
  if (const auto* func = value.as_func()) return put_func(out, kFunc, *func);
  if (const auto* placeholder = value.as_placeholder())
    return put_bytes_field(out, kPlaceholder, placeholder->name);
  if (const auto* list = value.as_list()) {
    const NestedField items(out, kList, expected_attr_bytes(value));
    std::visit([&](const auto& typed) { put_list_items(out, typed); }, *list);
  }
}

void put_attr_entry(std::string* out, int number, std::string_view name, const AttrValue& value) {
  const NestedField entry(out, number, name.size() + expected_attr_bytes(value));
  put_bytes_field(out, kEntryKey, name);
  put_attr_value(out, kEntryValue, value);
}

size_t expected_attr_bytes(const AttrValue& value) {
  if (const auto* text = value.as_string()) return text->size();
  if (const auto* tensor = value.as_tensor()) return tensor->num_bytes() + 16;
  if (const auto* tensors = value.as_list_of<Tensor>()) {
    size_t total = 0;
    for (const Tensor& tensor : *tensors) total += tensor.num_bytes() + 16;
    return total;
  }
  return 0;
}

}  // namespace millrace::wire
