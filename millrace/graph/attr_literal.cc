// Part of literal.h: attribute values in the graph's text form.
#include <charconv>

#include "millrace/graph/literal.h"

namespace millrace {
namespace {

Result<AttrValue> parse_value(Cursor& cursor, std::string_view kind, int depth);

Result<AttrValue> parse_shape(Cursor& cursor) {
  const size_t begin = cursor.position();
  MR_TRY(cursor.expect('['));
  std::vector<int64_t> dims;
  while (!cursor.take(']')) {
    if (!dims.empty()) MR_TRY(cursor.expect(','));
    if (cursor.take('?')) {
      dims.push_back(kUnknownDim);
      continue;
    }
    const size_t at = cursor.position();
    const std::string_view word = cursor.word();
    int64_t dim = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), dim);
    if (word.empty() || code != std::errc() || end != word.data() + word.size()) {
      return cursor.error_at(at, "expected a dimension: a number or ?");
    }
    dims.push_back(dim);
  }
  Result<PartialShape> shape = PartialShape::create(dims);
  if (!shape.ok()) return cursor.error_at(begin, shape.status().message());
  return AttrValue(*std::move(shape));
}

template <class T>
const T* get(const AttrValue& value);
template <>
const std::string* get(const AttrValue& value) {
  return value.as_string();
}
template <>
const int64_t* get(const AttrValue& value) {
  return value.as_int();
}
template <>
const float* get(const AttrValue& value) {
  return value.as_float();
}
template <>
const bool* get(const AttrValue& value) {
  return value.as_bool();
}
template <>
const DType* get(const AttrValue& value) {
  return value.as_type();
}
template <>
const PartialShape* get(const AttrValue& value) {
  return value.as_shape();
}
template <>
const Tensor* get(const AttrValue& value) {
  return value.as_tensor();
}
template <>
const FunctionRef* get(const AttrValue& value) {
  return value.as_func();
}

template <class T>
bool collect(const std::vector<AttrValue>& items, AttrValue* list) {
  std::vector<T> values;
  for (const AttrValue& item : items) {
    const T* value = get<T>(item);
    if (value == nullptr) return false;
    values.push_back(*value);
  }
  *list = AttrValue(std::move(values));
  return true;
}

template <class T>
bool collect_empty(std::string_view word, std::string_view wanted, AttrValue* list) {
  if (word != wanted) return false;
  *list = AttrValue(std::vector<T>());
  return true;
}

AttrValue empty_list(std::string_view element) {
  AttrValue list;
  collect_empty<int64_t>(element, "int", &list) || collect_empty<float>(element, "float", &list) ||
      collect_empty<bool>(element, "bool", &list) || collect_empty<DType>(element, "type", &list) ||
      collect_empty<PartialShape>(element, "shape", &list) ||
      collect_empty<Tensor>(element, "tensor", &list) ||
      collect_empty<FunctionRef>(element, "func", &list);
  return list.has_value() ? list : AttrValue(std::vector<std::string>());
}

Result<AttrValue> parse_list(Cursor& cursor, std::string_view kind, int depth) {
  std::string_view element;
  if (kind.starts_with("list(")) element = kind.substr(5, kind.size() - 6);
  const size_t begin = cursor.position();
  MR_TRY(cursor.expect('{'));
  std::vector<AttrValue> items;
  while (!cursor.take('}')) {
    if (!items.empty()) MR_TRY(cursor.expect(','));
    MR_ASSIGN(AttrValue item, parse_value(cursor, element, depth + 1));
    items.push_back(std::move(item));
  }
  if (items.empty()) return empty_list(element);
  AttrValue list;
  const bool is_uniform = collect<int64_t>(items, &list) || collect<float>(items, &list) ||
                          collect<bool>(items, &list) || collect<DType>(items, &list) ||
                          collect<std::string>(items, &list) ||
                          collect<PartialShape>(items, &list) || collect<Tensor>(items, &list) ||
                          collect<FunctionRef>(items, &list);
  if (is_uniform) return list;
  return cursor.error_at(begin, "the items of a list must be of one kind");
}

Result<AttrValue> parse_func(Cursor& cursor, std::string_view name, int depth) {
  FunctionRef func{std::string(name), {}};
  if (!cursor.take('(')) return AttrValue(std::move(func));
  while (!cursor.take(')')) {
    if (!func.attrs.empty()) MR_TRY(cursor.expect(','));
    const std::string attr(cursor.word());
    MR_TRY(cursor.expect('='));
    MR_ASSIGN(AttrValue value, parse_value(cursor, "", depth + 1));
    func.attrs.emplace_back(attr, std::move(value));
  }
  return AttrValue(std::move(func));
}

bool is_number(std::string_view word) {
  if (word == "inf" || word == "-inf" || word == "nan") return true;
  const size_t sign = word[0] == '-' || word[0] == '+' ? 1 : 0;
  return word.size() > sign && ((word[sign] >= '0' && word[sign] <= '9') || word[sign] == '.');
}

Result<AttrValue> parse_number(Cursor& cursor, size_t at, std::string_view word,
                               std::string_view kind) {
  const char* const end = word.data() + word.size();
  int64_t integer = 0;
  const auto as_int = std::from_chars(word.data(), end, integer);
  if (kind != "float" && as_int.ec == std::errc() && as_int.ptr == end) return AttrValue(integer);
  float real = 0;
  const auto as_float = std::from_chars(word.data(), end, real);
  if (as_float.ec == std::errc() && as_float.ptr == end) return AttrValue(real);
  return cursor.error_at(at, str_cat("'", word, "' is no number that fits"));
}

Result<AttrValue> parse_word(Cursor& cursor, std::string_view kind, int depth) {
  const size_t at = cursor.position();
  const std::string_view word = cursor.word();
  if (word.empty()) return cursor.error_at(at, "expected a value");
  if (word == "true" || word == "false") return AttrValue(word == "true");
  if (word == "nothing") return AttrValue();
  if (word == "tensor" && cursor.take('(')) {
    MR_ASSIGN(Tensor tensor, parse_tensor(cursor));
    MR_TRY(cursor.expect(')'));
    return AttrValue(std::move(tensor));
  }
  if (is_number(word)) return parse_number(cursor, at, word, kind);
  if (kind != "func") {
    if (const auto dtype = dtype_from_name(word)) return AttrValue(*dtype);
  }
  return parse_func(cursor, word, depth);
}

Result<AttrValue> parse_value(Cursor& cursor, std::string_view kind, int depth) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return cursor.fail("values are nested too deeply");
  switch (cursor.peek()) {
    case '"': {
      MR_ASSIGN(std::string text, cursor.quoted());
      return AttrValue(std::move(text));
    }
    case '[':
      return parse_shape(cursor);
    case '{':
      return parse_list(cursor, kind, depth);
    case '?': {
      cursor.take('?');
      static const PartialShape kUnknown;
      return AttrValue(kUnknown);
    }
    case '$': {
      cursor.take('$');
      return AttrValue(AttrPlaceholder{std::string(cursor.word())});
    }
    default:
      return parse_word(cursor, kind, depth);
  }
}

}  // namespace

Result<AttrValue> parse_attr(Cursor& cursor, std::string_view kind) {
  return parse_value(cursor, kind, 0);
}

std::string print_attr(const AttrValue& value) {
  if (const Tensor* tensor = value.as_tensor())
    return str_cat("tensor(", print_tensor(*tensor), ")");
  if (const PartialShape* shape = value.as_shape(); shape && !shape->has_rank()) return "?";
  const AttrValue::ListValue* list = value.as_list();
  if (list == nullptr) return value.to_string();
  return std::visit(
      [](const auto& items) {
        std::string text = "{";
        for (size_t i = 0; i < items.size(); ++i) {
          str_append(
              &text, i ? ", " : "",
              print_attr(AttrValue(typename std::decay_t<decltype(items)>::value_type(items[i]))));
        }
        return text + "}";
      },
      *list);
}

}  // namespace millrace
