#include "millrace/op/attr_identity.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace millrace {
namespace {

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!is_plain(a.dtype())) return a == b;
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.bytes() == b.bytes();
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.as_tensor() && b.as_tensor()) return same_tensor(*a.as_tensor(), *b.as_tensor());
  // Texts of floats are exact.
  const bool has_floats = a.as_float() || a.as_list_of<float>();
  return has_floats ? a.to_string() == b.to_string() : a == b;
}

size_t hash_of(const Tensor& tensor) {
  const size_t hash =
      absl::HashOf(static_cast<int>(tensor.dtype()), tensor.shape().rank(), tensor.num_elements());
  if (is_plain(tensor.dtype())) return absl::HashOf(hash, to_absl(tensor.bytes()));
  if (tensor.dtype() != DType::string) return hash;
  size_t strings = hash;
  for (const std::string& text : tensor.flat<std::string>()) strings = absl::HashOf(strings, text);
  return strings;
}

size_t hash_of(const AttrValue& value) {
  if (const DType* type = value.as_type()) return absl::HashOf(static_cast<int>(*type));
  if (const int64_t* number = value.as_int()) return absl::HashOf(*number);
  if (const bool* flag = value.as_bool()) return absl::HashOf(*flag);
  if (const std::string* text = value.as_string()) return absl::HashOf(*text);
  if (const Tensor* tensor = value.as_tensor()) return hash_of(*tensor);
  return absl::HashOf(value.to_string());
}

bool can_be_identical(const AttrValue& value) {
  if (value.as_func() || value.as_placeholder()) return false;
  const AttrValue::ListValue* list = value.as_list();
  return !list || (!std::holds_alternative<std::vector<Tensor>>(*list) &&
                   !std::holds_alternative<std::vector<FunctionRef>>(*list));
}

}  // namespace

size_t hash_of(const Attrs& attrs) {
  size_t hash = attrs.size();
  for (const auto& [name, value] : attrs) hash = absl::HashOf(hash, name, hash_of(value));
  return hash;
}

bool are_identical(const Attrs& a, const Attrs& b) {
  return std::ranges::equal(a, b, [](const Attrs::Entry& left, const Attrs::Entry& right) {
    return left.first == right.first && same_value(left.second, right.second);
  });
}

bool can_be_identical(const Attrs& attrs) {
  return std::ranges::all_of(
      attrs, [](const Attrs::Entry& entry) { return can_be_identical(entry.second); });
}

}  // namespace millrace
