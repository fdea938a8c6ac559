// Part of literal.h: tensors in the graph's text form.
#include <charconv>
#include <optional>
#include <type_traits>

#include "absl/strings/escaping.h"

#include "millrace/graph/literal.h"
#include "millrace/tensor/visit_values.h"

namespace millrace {
namespace {

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;
template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// One element as it stands in the text. Complex ones have two words.
struct Element {
  size_t at = 0;
  std::string text;
  std::string imaginary;
  bool is_string = false;
};

struct Elements {
  std::vector<Element> values;
  std::vector<int64_t> dims;  // as the brackets say
};

Result<Element> parse_element(Cursor& cursor) {
  Element element;
  element.at = cursor.position();
  if (cursor.peek() == '"') {
    MR_ASSIGN(element.text, cursor.quoted());
    element.is_string = true;
    return element;
  }
  const bool is_pair = cursor.take('(');
  element.text = cursor.word();
  if (is_pair) {
    MR_TRY(cursor.expect(','));
    element.imaginary = cursor.word();
    MR_TRY(cursor.expect(')'));
  }
  if (element.text.empty()) return cursor.error_at(element.at, "expected an element of a tensor");
  return element;
}

// Reads what stands at nesting `axis`. The first list met on an axis fixes its size.
Status parse_nested(Cursor& cursor, size_t axis, bool is_first, Elements& into) {
  if (cursor.peek() != '[') {
    if (!is_first && axis < into.dims.size()) return cursor.fail("expected a list here");
    MR_ASSIGN(Element element, parse_element(cursor));
    into.values.push_back(std::move(element));
    return {};
  }
  if (axis >= kMaxRank) return cursor.fail("a tensor has at most ", kMaxRank, " axes");
  const size_t begin = cursor.position();
  if (is_first) {
    into.dims.push_back(0);
  } else if (axis >= into.dims.size()) {
    return cursor.fail("expected an element here, not a list");
  }
  MR_TRY(cursor.expect('['));
  int64_t count = 0;
  for (; !cursor.take(']'); ++count) {
    if (count > 0) MR_TRY(cursor.expect(','));
    MR_TRY(parse_nested(cursor, axis + 1, is_first && count == 0, into));
  }
  if (is_first) into.dims[axis] = count;
  if (into.dims[axis] == count) return {};
  return cursor.error_at(begin, str_cat("this list has ", count,
                                        " items, the first one of its axis ", into.dims[axis]));
}

template <class T>
bool read_number(std::string_view word, T* value) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return !word.empty() && code == std::errc() && end == word.data() + word.size();
}

template <class T>
bool read_element(const Element& element, T* value) {
  if constexpr (std::is_same_v<T, std::string>) {
    *value = element.text;
    return element.is_string;
  } else if constexpr (std::is_same_v<T, bool>) {
    *value = element.text == "true";
    return *value || element.text == "false";
  } else if constexpr (is_narrow_float<T>) {
    float wide = 0;
    const bool ok = read_number(element.text, &wide);
    *value = T(wide);
    return ok;
  } else if constexpr (is_complex_type<T>) {
    typename T::value_type re = 0, im = 0;
    const bool ok = read_number(element.text, &re) &&
                    (element.imaginary.empty() || read_number(element.imaginary, &im));
    *value = T(re, im);
    return ok;
  } else {
    return read_number(element.text, value);
  }
}

DType guess_type(const std::vector<Element>& elements) {
  DType guess = DType::i32;
  for (const Element& element : elements) {
    if (element.is_string) return DType::string;
    if (element.text == "true" || element.text == "false") return DType::boolean;
    int32_t value;
    if (!read_number(element.text, &value)) guess = DType::f32;
  }
  return guess;
}

Result<Tensor> fill(Cursor& cursor, DType dtype, const Elements& elements) {
  MR_ASSIGN(const Shape shape, Shape::create(elements.dims));
  MR_ASSIGN(Tensor tensor, Tensor::allocate(dtype, shape));
  Status status;
  const bool is_known = visit_values(dtype, [&]<class T>(T) {
    const std::span<T> flat = tensor.mutable_flat<T>();
    for (size_t i = 0; i < flat.size() && status.ok(); ++i) {
      if (read_element(elements.values[i], &flat[i])) continue;
      status = cursor.error_at(elements.values[i].at, str_cat("'", elements.values[i].text,
                                                              "' is no ", dtype_name(dtype)));
    }
  });
  if (!is_known) return cursor.fail("elements of ", dtype_name(dtype), " are written as hex \"…\"");
  MR_TRY(status);
  return tensor;
}

Result<Tensor> parse_hex(Cursor& cursor, DType dtype) {
  const size_t begin = cursor.position();
  MR_ASSIGN(const std::string digits, cursor.quoted());
  const std::string bytes = absl::HexStringToBytes(digits);
  if (!is_plain(dtype) || digits.size() % (2 * dtype_size(dtype)) != 0) {
    return cursor.error_at(begin, str_cat("this is no whole number of ", dtype_name(dtype)));
  }
  const auto count = static_cast<int64_t>(bytes.size() / dtype_size(dtype));
  MR_ASSIGN(Tensor tensor, Tensor::allocate(dtype, Shape{count}));
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor.mutable_data()));
  return tensor;
}

template <class T>
std::string number_text(T value) {
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  if constexpr (std::is_floating_point_v<T>) {
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
  }
  return text;
}

template <class T>
std::string element_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return str_cat("\"", absl::Utf8SafeCEscape(value), "\"");
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (is_narrow_float<T>) {
    return number_text(static_cast<float>(value));
  } else if constexpr (is_complex_type<T>) {
    return str_cat("(", number_text(value.real()), ", ", number_text(value.imag()), ")");
  } else {
    return number_text(value);
  }
}

template <class T>
void print_nested(const T*& next, std::span<const int64_t> dims, std::string* text) {
  if (dims.empty()) {
    *text += element_text(*next++);
    return;
  }
  *text += '[';
  for (int64_t i = 0; i < dims[0]; ++i) {
    if (i > 0) *text += ", ";
    print_nested(next, dims.subspan(1), text);
  }
  *text += ']';
}

bool needs_no_type(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  return tensor.num_elements() > 0 && (dtype == DType::i32 || dtype == DType::f32 ||
                                       dtype == DType::boolean || dtype == DType::string);
}

}  // namespace

Result<Tensor> parse_tensor(Cursor& cursor) {
  const size_t begin = cursor.position();
  std::optional<DType> dtype = dtype_from_name(cursor.word());
  if (!dtype) cursor.rewind(begin);
  Tensor tensor;
  if (dtype && cursor.take_word("hex")) {
    MR_ASSIGN(tensor, parse_hex(cursor, *dtype));
  } else {
    Elements elements;
    MR_TRY(parse_nested(cursor, 0, /*is_first=*/true, elements));
    if (!dtype) dtype = elements.values.empty() ? DType::f32 : guess_type(elements.values);
    MR_ASSIGN(tensor, fill(cursor, *dtype, elements));
  }
  if (!cursor.take_word("as")) return tensor;
  const size_t at = cursor.position();
  MR_ASSIGN(const AttrValue shape, parse_attr(cursor, "shape"));
  const std::optional<Shape> full = shape.as_shape() ? shape.as_shape()->to_shape() : std::nullopt;
  if (!full || full->num_elements() != tensor.num_elements()) {
    return cursor.error_at(at, str_cat("expected a shape of ", tensor.num_elements(), " elements"));
  }
  return tensor.reshaped(*full);
}

std::string print_tensor(const Tensor& tensor) {
  std::string text;
  if (!needs_no_type(tensor)) str_append(&text, dtype_name(tensor.dtype()), " ");
  const std::span<const int64_t> dims = tensor.shape().dims();
  const bool is_empty = tensor.num_elements() == 0;
  const bool is_known = visit_values(tensor.dtype(), [&]<class T>(T) {
    const T* next = is_empty ? nullptr : tensor.flat<T>().data();
    print_nested(next, is_empty ? Shape{0}.dims() : dims, &text);
  });
  if (!is_known && is_plain(tensor.dtype()) && tensor.has_value()) {
    str_append(&text, "hex \"", absl::BytesToHexString(to_absl(tensor.bytes())), "\"");
  } else if (!is_known) {
    return tensor.to_string();
  }
  const bool is_vector = dims.size() == 1;
  if ((is_empty && !is_vector) || (!is_known && !is_vector)) {
    str_append(&text, " as ", tensor.shape().to_string());
  }
  return text;
}

}  // namespace millrace
