#include "millrace/op/signature.h"

#include <array>
#include <charconv>
#include <set>

#include "absl/strings/ascii.h"

namespace millrace {
namespace {

constexpr std::array kFloating = {DType::bf16, DType::f16, DType::f32, DType::f64};
constexpr std::array kNumber = {DType::bf16, DType::f16, DType::f32, DType::f64, DType::i8,
                                DType::i16,  DType::i32, DType::i64, DType::u8,  DType::u16,
                                DType::u32,  DType::u64, DType::c64, DType::c128};
constexpr std::array<std::string_view, 8> kKinds = {"type",   "int",   "float",  "bool",
                                                    "string", "shape", "tensor", "func"};

// An argument as it is written; what its type names is known only once the attributes are read.
struct WrittenArg {
  std::string_view name, number, type;
  bool is_ref = false;
  size_t name_at = 0, number_at = 0, type_at = 0;
};

class Parser {
 public:
  explicit Parser(OpDef& op) : op_(op), text_(op.signature) {}

  Status parse() {
    std::vector<WrittenArg> inputs, outputs;
    MR_TRY(parse_args(inputs));
    MR_TRY(expect("->", "',' or '->' after the inputs"));
    MR_TRY(parse_args(outputs));
    if (take("|")) {
      do {
        MR_TRY(parse_attr());
      } while (take(","));
    }
    skip_space();
    if (at_ != text_.size()) return fail(at_, "',' or the end");
    MR_TRY(resolve(inputs, op_.inputs));
    return resolve(outputs, op_.outputs);
  }

 private:
  // --- words ---
  void skip_space() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  // Takes `mark` if it is next.
  bool take(std::string_view mark) {
    skip_space();
    if (!text_.substr(at_).starts_with(mark)) return false;
    at_ += mark.size();
    return true;
  }
  Status expect(std::string_view mark, std::string_view expected) {
    return take(mark) ? Status() : fail(at_, expected);
  }
  std::string_view peek_name() {
    skip_space();
    size_t end = at_;
    while (end < text_.size() && (absl::ascii_isalnum(text_[end]) || text_[end] == '_')) ++end;
    return text_.substr(at_, end - at_);
  }
  Result<std::string_view> name(std::string_view expected) {
    const std::string_view found = peek_name();
    if (found.empty() || absl::ascii_isdigit(found[0])) return fail(at_, expected);
    at_ += found.size();
    return found;
  }
  Status fail(size_t at, std::string_view expected) const {
    const std::string_view found = text_.substr(at, 12);
    return invalid("signature of op ", op_.name, ", column ", at + 1, ": expected ", expected,
                   ", found ", found.empty() ? "the end" : str_cat("'", found, "'"));
  }
  Status claim(std::string_view name, size_t at) {
    return names_.insert(name).second ? Status() : fail(at, "a name that is not taken yet");
  }

  // --- arguments ---
  Status parse_args(std::vector<WrittenArg>& args) {
    if (peek_name().empty()) return {};
    do {
      WrittenArg arg;
      MR_ASSIGN(arg.name, name("the name of an argument"));
      arg.name_at = at_ - arg.name.size();
      MR_TRY(claim(arg.name, arg.name_at));
      MR_TRY(expect(":", "':' after the argument's name"));
      MR_TRY(parse_arg_type(arg));
      args.push_back(arg);
    } while (take(","));
    return {};
  }

  Status parse_arg_type(WrittenArg& arg) {
    MR_ASSIGN(arg.type, name("a type, an attribute, or ref(...)"));
    arg.type_at = at_ - arg.type.size();
    if (take("*")) {
      arg.number = arg.type;
      arg.number_at = arg.type_at;
      MR_ASSIGN(arg.type, name("a type, an attribute, or ref(...)"));
      arg.type_at = at_ - arg.type.size();
    }
    if (arg.type != "ref" || !take("(")) return {};
    arg.is_ref = true;
    MR_ASSIGN(arg.type, name("a type or an attribute"));
    arg.type_at = at_ - arg.type.size();
    return expect(")", "')' after the type of a reference");
  }

  Status resolve(const std::vector<WrittenArg>& written, std::vector<ArgDef>& args) {
    args.clear();
    for (const WrittenArg& from : written) {
      ArgDef arg;
      arg.name = from.name;
      arg.is_ref = from.is_ref;
      if (!from.number.empty()) {
        const AttrDef* count = op_.find_attr(from.number);
        if (count == nullptr || count->kind != "int")
          return fail(from.number_at, "an int attribute");
        arg.number_attr = from.number;
      }
      const AttrDef* attr = op_.find_attr(from.type);
      if (attr != nullptr && attr->kind == "type") {
        arg.type_attr = from.type;
      } else if (attr != nullptr && attr->kind == "list(type)" && from.number.empty()) {
        arg.type_list_attr = from.type;
      } else if (const auto dtype = dtype_from_name(from.type); dtype && attr == nullptr) {
        arg.dtype = *dtype;
      } else {
        return fail(from.type_at, "a type or a type attribute");
      }
      args.push_back(std::move(arg));
    }
    return {};
  }

  // --- attributes ---
  Status parse_attr() {
    AttrDef attr;
    MR_ASSIGN(const std::string_view attr_name, name("the name of an attribute"));
    MR_TRY(claim(attr_name, at_ - attr_name.size()));
    attr.name = attr_name;
    MR_TRY(expect(":", "':' after the attribute's name"));
    MR_TRY(parse_kind(attr));
    if (take(">=")) {
      MR_ASSIGN(attr.minimum, parse_number<int64_t>("a whole number"));
    }
    if (take("=")) {
      MR_ASSIGN(attr.default_value, parse_default(attr.kind));
    }
    op_.attrs.push_back(std::move(attr));
    return {};
  }

  Status parse_kind(AttrDef& attr) {
    skip_space();
    if (text_.substr(at_).starts_with("list(")) {
      at_ += 5;
      MR_TRY(parse_kind(attr));
      if (attr.kind.starts_with("list(")) return fail(at_, "a kind that is not a list itself");
      attr.kind = str_cat("list(", attr.kind, ")");
      return expect(")", "')' after the kind of a list");
    }
    if (take("{")) return parse_choice(attr);
    const size_t begin = at_;
    MR_ASSIGN(const std::string_view kind, name("a kind"));
    attr.kind = kind;
    if (kind == "number" || kind == "floating") {
      attr.kind = "type";
      kind == "number" ? attr.allowed_types.assign(kNumber.begin(), kNumber.end())
                       : attr.allowed_types.assign(kFloating.begin(), kFloating.end());
      return {};
    }
    for (const std::string_view known : kKinds) {
      if (kind == known) return {};
    }
    return fail(begin,
                "a kind (type, int, float, bool, string, shape, tensor, func, list(...), {...})");
  }

  // What follows "{": types or texts to choose from.
  Status parse_choice(AttrDef& attr) {
    do {
      skip_space();
      if (at_ < text_.size() && text_[at_] == '\'') {
        attr.kind = "string";
        MR_ASSIGN(attr.allowed_strings.emplace_back(), parse_quoted());
      } else {
        attr.kind = "type";
        MR_ASSIGN(attr.allowed_types.emplace_back(), parse_type());
      }
    } while (take(","));
    return expect("}", "',' or '}' in a choice");
  }

  Result<DType> parse_type() {
    const std::string_view word = peek_name();
    const auto dtype = dtype_from_name(word);
    if (!dtype) return fail(at_, "a type");
    at_ += word.size();
    return *dtype;
  }

  Result<std::string> parse_quoted() {
    skip_space();
    const size_t end = at_ < text_.size() && text_[at_] == '\'' ? text_.find('\'', at_ + 1)
                                                                : std::string_view::npos;
    if (end == std::string_view::npos) return fail(at_, "a text in single quotes");
    std::string quoted(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return quoted;
  }

  template <class Number>
  Result<Number> parse_number(std::string_view expected) {
    skip_space();
    Number number{};
    const char* begin = text_.data() + at_;
    const auto [stop, problem] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (problem != std::errc()) return fail(at_, expected);
    at_ += static_cast<size_t>(stop - begin);
    return number;
  }

  Result<bool> parse_bool() {
    const std::string_view word = peek_name();
    if (word != "true" && word != "false") return fail(at_, "true or false");
    at_ += word.size();
    return word == "true";
  }

  Result<PartialShape> parse_shape() {
    if (take("?")) return PartialShape::unknown();
    MR_TRY(expect("[", "a shape: ? or [2,?]"));
    std::vector<int64_t> dims;
    if (!take("]")) {
      do {
        if (take("?")) {
          dims.push_back(kUnknownDim);
        } else {
          MR_ASSIGN(dims.emplace_back(), parse_number<int64_t>("a dimension or ?"));
        }
      } while (take(","));
      MR_TRY(expect("]", "',' or ']' in a shape"));
    }
    return PartialShape::create(dims);
  }

  template <class T, class ParseItem>
  Result<AttrValue> parse_list(ParseItem parse_item) {
    std::vector<T> items;
    MR_TRY(expect("{", "a list in braces"));
    if (take("}")) return AttrValue(std::move(items));
    do {
      MR_ASSIGN(T item, parse_item());
      items.push_back(std::move(item));
    } while (take(","));
    MR_TRY(expect("}", "',' or '}' in a list"));
    return AttrValue(std::move(items));
  }

  template <class T>
  static Result<AttrValue> as_attr(Result<T> value) {
    if (!value.ok()) return value.status();
    return AttrValue(std::move(value).value());
  }

  Result<AttrValue> parse_default(std::string_view kind) {
    const auto integer = [this] { return parse_number<int64_t>("a whole number"); };
    const auto real = [this] { return parse_number<float>("a number"); };
    const auto type = [this] { return parse_type(); };
    const auto text = [this] { return parse_quoted(); };
    const auto shape = [this] { return parse_shape(); };
    const auto boolean = [this] { return parse_bool(); };
    if (kind == "int") return as_attr(integer());
    if (kind == "float") return as_attr(real());
    if (kind == "type") return as_attr(type());
    if (kind == "string") return as_attr(text());
    if (kind == "shape") return as_attr(shape());
    if (kind == "bool") return as_attr(boolean());
    if (kind == "list(int)") return parse_list<int64_t>(integer);
    if (kind == "list(float)") return parse_list<float>(real);
    if (kind == "list(type)") return parse_list<DType>(type);
    if (kind == "list(string)") return parse_list<std::string>(text);
    if (kind == "list(shape)") return parse_list<PartialShape>(shape);
    if (kind == "list(bool)") return parse_list<bool>(boolean);
    skip_space();
    return fail(at_, str_cat("no default, because there is no literal of kind ", kind));
  }

  OpDef& op_;
  const std::string_view text_;
  size_t at_ = 0;
  std::set<std::string_view> names_;
};

}  // namespace

Status parse_signature(OpDef& op) {
  op.inputs.clear();
  op.outputs.clear();
  op.attrs.clear();
  return Parser(op).parse();
}

}  // namespace millrace
