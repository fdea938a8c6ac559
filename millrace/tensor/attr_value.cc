#include "millrace/tensor/attr_value.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

template <class T>
std::string_view word_for() {
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, int64_t>) return "int";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, DType>) return "type";
  if constexpr (std::is_same_v<T, PartialShape>) return "shape";
  if constexpr (std::is_same_v<T, Tensor>) return "tensor";
  if constexpr (std::is_same_v<T, FunctionRef>) return "func";
  if constexpr (std::is_same_v<T, AttrPlaceholder>) return "placeholder";
  return "nothing";
}

std::string text_of(const FunctionRef& value);
std::string text_of(std::monostate) { return "nothing"; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(float value) {
  char digits[32];
  std::string text(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  // 1.0, not 1, which would read as an int; "inf" and "nan" can't be mistaken.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}
std::string text_of(DType value) { return std::string(dtype_name(value)); }
std::string text_of(const std::string& value) {
  return str_cat("\"", absl::Utf8SafeCEscape(value), "\"");
}
std::string text_of(const PartialShape& value) { return value.to_string(); }
std::string text_of(const Tensor& value) { return str_cat("tensor(", value.to_string(), ")"); }
std::string text_of(const AttrPlaceholder& value) { return str_cat("$", value.name); }
std::string text_of(const AttrValue::ListValue& list) {
  std::string text = "{";
  std::visit(
      [&](const auto& items) {
        for (size_t i = 0; i < items.size(); ++i) {
          if (i > 0) text += ", ";
          text += text_of(
              static_cast<typename std::decay_t<decltype(items)>::const_reference>(items[i]));
        }
      },
      list);
  return text += '}';
}
std::string text_of(const FunctionRef& value) {
  std::string text = value.name;
  if (value.attrs.empty()) return text;
  text += '(';
  for (size_t i = 0; i < value.attrs.size(); ++i) {
    const auto& [name, attr] = value.attrs[i];
    str_append(&text, i > 0 ? ", " : "", name, "=", attr.to_string());
  }
  return text += ')';
}

template <class T>
struct Pointee {
  using type = T;
};
template <class T>
struct Pointee<std::shared_ptr<const T>> {
  using type = T;
};

template <class T>
const T& held(const T& value) {
  return value;
}
template <class T>
const T& held(const std::shared_ptr<const T>& value) {
  return *value;
}

bool is_empty(const AttrValue::ListValue& list) {
  return std::visit([](const auto& items) { return items.empty(); }, list);
}

bool same(const AttrValue::ListValue& a, const AttrValue::ListValue& b) {
  return a == b || (is_empty(a) && is_empty(b));
}
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

}  // namespace

std::string AttrValue::kind() const {
  if (const ListValue* list = as_list()) {
    if (is_empty(*list)) return "list()";
    return std::visit(
        [](const auto& items) {
          return str_cat("list(", word_for<typename std::decay_t<decltype(items)>::value_type>(),
                         ")");
        },
        *list);
  }
  return std::visit(
      [](const auto& value) {
        return std::string(word_for<typename Pointee<std::decay_t<decltype(value)>>::type>());
      },
      value_);
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  return std::visit(
      [](const auto& left, const auto& right) {
        if constexpr (std::is_same_v<decltype(left), decltype(right)>) {
          return same(held(left), held(right));
        } else {
          return false;
        }
      },
      a.value_, b.value_);
}

// Attributes of a function are a map: their order on the wire means nothing.
bool operator==(const FunctionRef& a, const FunctionRef& b) {
  return a.name == b.name && a.attrs.size() == b.attrs.size() &&
         std::is_permutation(a.attrs.begin(), a.attrs.end(), b.attrs.begin());
}

std::string AttrValue::to_string() const {
  return std::visit([](const auto& value) { return text_of(held(value)); }, value_);
}

}  // namespace millrace
