// Part of tensor.h: Tensor::to_string.
#include <algorithm>
#include <charconv>
#include <complex>
#include <string>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/tensor/tensor.h"
#include "millrace/tensor/visit_dtype.h"

namespace millrace {
namespace {

template <class T>
void append_number(std::string* out, T value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  out->append(digits, end);
}

template <class T>
void append(std::string* out, T value) requires std::is_arithmetic_v<T> {
  append_number(out, value);
}
void append(std::string* out, bool value) { out->append(value ? "true" : "false"); }
void append(std::string* out, BFloat16 value) { append_number(out, static_cast<float>(value)); }
void append(std::string* out, Half value) { append_number(out, static_cast<float>(value)); }
template <class T>
void append(std::string* out, std::complex<T> value) {
  out->append("(");
  append_number(out, value.real());
  out->append(",");
  append_number(out, value.imag());
  out->append(")");
}
void append(std::string* out, const std::string& value) {
  str_append(out, "\"", absl::Utf8SafeCEscape(value), "\"");
}
void append(std::string* out, const ResourceHandle& value) {
  str_append(out, value.container, "/", value.name, "@", value.device);
}
void append(std::string* out, const Variant& value) {
  str_append(out, "variant(", value.type_name, ")");
}

}  // namespace

std::string Tensor::to_string(int max_elements) const {
  if (!has_value()) return "no value";
  std::string text = str_cat(dtype_name(dtype_), shape_.to_string());
  const int64_t shown = std::min<int64_t>(num_elements(), std::max(max_elements, 0));
  visit_dtype(dtype_, [&]<class T>(std::type_identity<T>) {
    const T* elements = static_cast<const T*>(data_);
    for (int64_t i = 0; i < shown; ++i) {
      text += ' ';
      append(&text, elements[i]);
    }
  });
  if (shown < num_elements()) str_append(&text, " ... (", num_elements() - shown, " more)");
  return text;
}

}  // namespace millrace
