#include "millrace/op/testing/example.h"

#include <complex>
#include <limits>

#include "absl/strings/ascii.h"

#include "millrace/op/scanner.h"

namespace millrace {
namespace {

class Parser : private Scanner {
 public:
  Parser(const OpDef& op, std::string_view text)
      : Scanner(str_cat("example '", text, "' of op ", op.name), text), op_(op) {}

  Result<Example> parse() {
    Example example;
    if (!at_end() && !is_mark()) MR_TRY(parse_values(example.inputs));
    if (take("->")) {
      example.has_outputs = true;
      if (!at_end() && !is_mark()) MR_TRY(parse_values(example.outputs));
    }
    if (take("|")) {
      do {
        MR_TRY(parse_attr(example.attrs));
      } while (take(","));
    }
    if (!at_end()) return fail(at(), "',' or the end");
    return example;
  }

 private:
  // "-" begins a number unless it is the arrow.
  bool is_mark() {
    Scanner ahead = *this;
    return next() == '|' || ahead.take("->");
  }

  Status parse_values(std::vector<ExampleValue>& values) {
    do {
      ExampleValue value;
      std::vector<int64_t> dims;
      MR_TRY(parse_value(0, dims, value));
      MR_ASSIGN(value.shape, Shape::create(dims));
      const size_t elements = value.texts.empty() ? value.numbers.size() : value.texts.size();
      if (static_cast<int64_t>(elements) != value.shape.num_elements())
        return fail(at(), "rows of one length");
      values.push_back(std::move(value));
    } while (take(","));
    return {};
  }

  Status parse_value(size_t depth, std::vector<int64_t>& dims, ExampleValue& value) {
    if (!take("[")) return parse_item(value);
    if (dims.size() == depth) dims.push_back(0);
    int64_t length = 0;
    for (; !take("]"); ++length) MR_TRY(parse_value(depth + 1, dims, value));
    dims[depth] = length;
    return {};
  }

  Status parse_item(ExampleValue& value) {
    if (next() == '\'') {
      MR_ASSIGN(value.texts.emplace_back(), quoted());
    } else if (absl::ascii_isalpha(next()) && next() != 'n' && next() != 'i') {
      MR_ASSIGN(const bool truth, boolean());
      value.numbers.push_back(truth ? 1 : 0);
    } else {
      MR_ASSIGN(value.numbers.emplace_back(), number("a value"));
    }
    return {};
  }

  Status parse_attr(Attrs& attrs) {
    MR_ASSIGN(const std::string_view attr_name, name("the name of an attribute"));
    const AttrDef* attr = op_.find_attr(attr_name);
    if (attr == nullptr) return fail(at() - attr_name.size(), "an attribute of the op");
    MR_TRY(expect("=", "'=' after the attribute's name"));
    MR_ASSIGN(AttrValue value, literal(attr->kind));
    attrs.set(attr_name, std::move(value));
    return {};
  }

  const OpDef& op_;
};

template <class T>
Tensor filled(const ExampleValue& value) {
  Tensor made = Tensor::allocate(dtype_of<T>, value.shape).value();
  const std::span<T> elements = made.mutable_flat<T>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const double number = value.numbers[i];
    if constexpr (std::is_same_v<T, bool>) {
      elements[i] = number != 0;
    } else if constexpr (std::is_integral_v<T>) {
      elements[i] = static_cast<T>(static_cast<int64_t>(number));  // negative ones wrap in unsigned
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      elements[i] = static_cast<float>(number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      elements[i] = str_cat(number);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      elements[i] = T(static_cast<float>(number));
    } else {
      elements[i] = T(number);
    }
  }
  return made;
}

// Of a quantized type, which keeps its numbers as T does.
template <class T>
Result<Tensor> filled_as(DType dtype, const ExampleValue& value) {
  const Tensor made = filled<T>(value);
  return Tensor::on_buffer(dtype, made.shape(), made.buffer());
}

}  // namespace

Result<Tensor> ExampleValue::as(DType dtype) const {
  if (!texts.empty()) {
    if (dtype != DType::string)
      return invalid("an example's texts can't be read as ", dtype_name(dtype));
    return Tensor::vector<std::string>(std::span<const std::string>(texts)).reshaped(shape);
  }
  switch (dtype) {
    case DType::f32:
      return filled<float>(*this);
    case DType::f64:
      return filled<double>(*this);
    case DType::f16:
      return filled<Half>(*this);
    case DType::bf16:
      return filled<BFloat16>(*this);
    case DType::i8:
      return filled<int8_t>(*this);
    case DType::i16:
      return filled<int16_t>(*this);
    case DType::i32:
      return filled<int32_t>(*this);
    case DType::i64:
      return filled<int64_t>(*this);
    case DType::u8:
      return filled<uint8_t>(*this);
    case DType::u16:
      return filled<uint16_t>(*this);
    case DType::u32:
      return filled<uint32_t>(*this);
    case DType::u64:
      return filled<uint64_t>(*this);
    case DType::boolean:
      return filled<bool>(*this);
    case DType::c64:
      return filled<std::complex<float>>(*this);
    case DType::c128:
      return filled<std::complex<double>>(*this);
    case DType::string:
      return filled<std::string>(*this);
    case DType::qi8:
      return filled_as<int8_t>(dtype, *this);
    case DType::qu8:
      return filled_as<uint8_t>(dtype, *this);
    case DType::qi16:
      return filled_as<int16_t>(dtype, *this);
    case DType::qu16:
      return filled_as<uint16_t>(dtype, *this);
    case DType::qi32:
      return filled_as<int32_t>(dtype, *this);
    default:
      return invalid("examples have no values of type ", dtype_name(dtype));
  }
}

Result<Example> parse_example(const OpDef& op, std::string_view text) {
  return Parser(op, text).parse();
}

}  // namespace millrace
