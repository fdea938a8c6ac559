#include "millrace/op/scanner.h"

#include <charconv>

#include "absl/strings/ascii.h"

namespace millrace {

bool Scanner::at_end() { return next() == 0; }

char Scanner::next() {
  while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Scanner::take(std::string_view mark) {
  next();
  if (!text_.substr(at_).starts_with(mark)) return false;
  at_ += mark.size();
  return true;
}

Status Scanner::expect(std::string_view mark, std::string_view expected) {
  return take(mark) ? Status() : fail(at_, expected);
}

std::string_view Scanner::peek_name() {
  next();
  size_t end = at_;
  while (end < text_.size() && (absl::ascii_isalnum(text_[end]) || text_[end] == '_')) ++end;
  return text_.substr(at_, end - at_);
}

Result<std::string_view> Scanner::name(std::string_view expected) {
  const std::string_view found = peek_name();
  if (found.empty() || absl::ascii_isdigit(found[0])) return fail(at_, expected);
  at_ += found.size();
  return found;
}

Status Scanner::fail(size_t at, std::string_view expected) const {
  const std::string_view found = text_.substr(at, 12);
  return invalid(what_, ", column ", at + 1, ": expected ", expected, ", found ",
                 found.empty() ? "the end" : str_cat("'", found, "'"));
}

Result<DType> Scanner::type() {
  const std::string_view word = peek_name();
  const auto dtype = dtype_from_name(word);
  if (!dtype) return fail(at_, "a type");
  at_ += word.size();
  return *dtype;
}

Result<std::string> Scanner::quoted() {
  const size_t end = next() == '\'' ? text_.find('\'', at_ + 1) : std::string_view::npos;
  if (end == std::string_view::npos) return fail(at_, "a text in single quotes");
  std::string found(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return found;
}

Result<int64_t> Scanner::integer(std::string_view expected) {
  next();
  int64_t found = 0;
  const char* begin = text_.data() + at_;
  const auto [stop, problem] = std::from_chars(begin, text_.data() + text_.size(), found);
  if (problem != std::errc()) return fail(at_, expected);
  at_ += static_cast<size_t>(stop - begin);
  return found;
}

Result<double> Scanner::number(std::string_view expected) {
  next();
  double found = 0;
  const char* begin = text_.data() + at_;
  const auto [stop, problem] = std::from_chars(begin, text_.data() + text_.size(), found);
  if (problem != std::errc()) return fail(at_, expected);
  at_ += static_cast<size_t>(stop - begin);
  return found;
}

Result<bool> Scanner::boolean() {
  const std::string_view word = peek_name();
  if (word != "true" && word != "false") return fail(at_, "true or false");
  at_ += word.size();
  return word == "true";
}

Result<PartialShape> Scanner::shape() {
  if (take("?")) return PartialShape::unknown();
  MR_TRY(expect("[", "a shape: ? or [2,?]"));
  std::vector<int64_t> dims;
  if (!take("]")) {
    do {
      if (take("?")) {
        dims.push_back(kUnknownDim);
      } else {
        MR_ASSIGN(dims.emplace_back(), integer("a dimension or ?"));
      }
    } while (take(","));
    MR_TRY(expect("]", "',' or ']' in a shape"));
  }
  return PartialShape::create(dims);
}

template <class T, class Item>
Result<AttrValue> Scanner::list(Item item) {
  std::vector<T> items;
  MR_TRY(expect("{", "a list in braces"));
  if (take("}")) return AttrValue(std::move(items));
  do {
    MR_ASSIGN(T made, item());
    items.push_back(std::move(made));
  } while (take(","));
  MR_TRY(expect("}", "',' or '}' in a list"));
  return AttrValue(std::move(items));
}

namespace {

template <class T>
Result<AttrValue> as_attr(Result<T> value) {
  if (!value.ok()) return value.status();
  return AttrValue(std::move(value).value());
}

}  // namespace

Result<AttrValue> Scanner::literal(std::string_view kind) {
  const auto an_integer = [this] { return integer("a whole number"); };
  const auto a_type = [this] { return type(); };
  const auto a_text = [this] { return quoted(); };
  const auto a_shape = [this] { return shape(); };
  const auto a_bool = [this] { return boolean(); };
  const auto a_float = [this]() -> Result<float> {
    MR_ASSIGN(const double found, number("a number"));
    return static_cast<float>(found);
  };
  const auto a_byte = [this]() -> Result<uint8_t> {
    MR_ASSIGN(const int64_t value, integer("a byte"));
    if (value < 0 || value > 255) return fail(at_, "a byte");
    return static_cast<uint8_t>(value);
  };
  if (kind == "int") return as_attr(an_integer());
  if (kind == "float") return as_attr(a_float());
  if (kind == "type") return as_attr(a_type());
  if (kind == "string") return as_attr(a_text());
  if (kind == "shape") return as_attr(a_shape());
  if (kind == "bool") return as_attr(a_bool());
  if (kind == "list(int)") return list<int64_t>(an_integer);
  if (kind == "list(float)") return list<float>(a_float);
  if (kind == "list(type)") return list<DType>(a_type);
  if (kind == "list(string)") return list<std::string>(a_text);
  if (kind == "list(shape)") return list<PartialShape>(a_shape);
  if (kind == "list(bool)") return list<bool>(a_bool);
  if (kind == "tensor" && take("bytes[")) {
    std::vector<uint8_t> bytes;
    do {
      MR_ASSIGN(bytes.emplace_back(), a_byte());
    } while (take(","));
    MR_TRY(expect("]", "',' or ']' in a tensor"));
    return AttrValue(Tensor::vector<uint8_t>(std::span<const uint8_t>(bytes)));
  }
  next();
  return fail(at_, str_cat("nothing, because there is no literal of kind ", kind));
}

}  // namespace millrace
