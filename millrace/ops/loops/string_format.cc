#include "millrace/ops/loops/string_format.h"

#include <cstdio>

#include "millrace/ops/loops/cpu_loops.h"

namespace millrace {
namespace {

std::string printed(const std::string& format, auto value) {
  std::string text(64, '\0');
  for (;;) {
    const int length = std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
    if (length < 0) return "?";
    const bool fits = static_cast<size_t>(length) <= text.size();
    text.resize(static_cast<size_t>(length));
    if (fits) return text;
  }
}

// "%" with flags, width and, for floats, precision; the conversion follows.
std::string conversion(const NumberFormat& format, bool with_precision) {
  std::string text = "%" + format.fill;
  if (format.width >= 0) str_append(&text, format.width);
  if (with_precision && format.precision >= 0) str_append(&text, ".", format.precision);
  return text;
}

std::string float_conversion(const NumberFormat& format) {
  const char* const letter = format.notation == Notation::scientific ? "e"
                             : format.notation == Notation::shortest ? "g"
                                                                     : "f";
  return conversion(format, true) + letter;
}

template <class T>
std::string spelled(const NumberFormat& format, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return printed(conversion(format, false) + "s", value.c_str());
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";  // whatever the width: as TensorFlow has it
  } else if constexpr (std::is_unsigned_v<T>) {
    return printed(conversion(format, false) + "llu", static_cast<unsigned long long>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return printed(conversion(format, false) + "lld", static_cast<long long>(value));
  } else if constexpr (requires { value.real(); }) {
    const std::string one = float_conversion(format);
    return str_cat("(", printed(one, static_cast<double>(value.real())), ",",
                   printed(one, static_cast<double>(value.imag())), ")");
  } else {
    return printed(float_conversion(format), static_cast<double>(static_cast<cpu::Math<T>>(value)));
  }
}

using Spell = std::string (*)(const NumberFormat& format, const Tensor& tensor, size_t index);

Spell spell_for(DType dtype) {
  using All = cpu::Join<cpu::Number, cpu::Types<bool, std::string>>;
  return cpu::pick<Spell>(All(), dtype, []<class T>() -> Spell {
    return [](const NumberFormat& format, const Tensor& tensor, size_t index) {
      return spelled(format, tensor.flat<T>()[index]);
    };
  });
}

}  // namespace

Status NumberFormat::check() const {
  constexpr int64_t kMost = 500;
  if (precision > kMost || width > kMost)
    return invalid("precision ", precision, " and width ", width, " must be at most ", kMost);
  if (fill.size() > 1) return invalid("Fill string must be one or fewer characters: '", fill, "'");
  if (fill.empty() || fill == " " || fill == "0" || fill == "-" || fill == "+") return {};
  return invalid("Fill argument not supported: '", fill, "'");
}

std::string NumberFormat::text_of(const Tensor& tensor, size_t index) const {
  const Spell spell = spell_for(tensor.dtype());
  return spell == nullptr ? std::string("?") : spell(*this, tensor, index);
}

std::string summary(const Tensor& tensor, int64_t most) {
  NumberFormat format;
  format.notation = Notation::shortest;
  const Shape& shape = tensor.shape();
  const int64_t shown = most < 0 ? tensor.num_elements() : std::min(most, tensor.num_elements());
  const int64_t row = shape.rank() > 1 ? shape.dim(shape.rank() - 1) : 0;
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    const bool begins_row = row > 0 && i % row == 0;
    if (begins_row) text += "[";
    if (i > 0 && !begins_row) text += " ";
    text += format.text_of(tensor, static_cast<size_t>(i));
    if (row > 0 && (i + 1) % row == 0) text += "]";
  }
  if (shown < tensor.num_elements()) text += "...";
  return text;
}

}  // namespace millrace
