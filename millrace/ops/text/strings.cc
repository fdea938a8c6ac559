// Part of families.h: register_strings.
#include <charconv>
#include <cmath>
#include <concepts>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/loops/string_format.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

// --- StringJoin ---

// The shape that all inputs which are no scalars have.
Result<PartialShape> joined_shape(int count, const std::function<PartialShape(int)>& shape_of) {
  PartialShape shape = PartialShape::scalar();
  for (int slot = 0; slot < count; ++slot) {
    const PartialShape other = shape_of(slot);
    if (!other.has_rank()) return PartialShape::unknown();
    if (other.rank() == 0) continue;
    if (shape.rank() == 0) {
      shape = other;
    } else {
      MR_ASSIGN(shape, shape.merge(other));
    }
  }
  return shape;
}

Result<Tensor> join(KernelContext& context, const std::string& separator) {
  MR_ASSIGN(const PartialShape known, joined_shape(context.num_inputs(), [&](int slot) {
              return PartialShape(context.input(slot).shape());
            }));
  MR_ASSIGN(Tensor output, context.allocate(0, *known.to_shape()));
  const std::span<std::string> texts = output.mutable_flat<std::string>();
  for (size_t i = 0; i < texts.size(); ++i) {
    for (int slot = 0; slot < context.num_inputs(); ++slot) {
      const Tensor& input = context.input(slot);
      if (slot > 0) texts[i] += separator;
      texts[i] += input.flat<std::string>()[input.shape().is_scalar() ? 0 : i];
    }
  }
  return output;
}

Status infer_join(InferContext& context) {
  return context.set_output(
      0, joined_shape(context.num_inputs(), [&](int slot) { return context.input(slot); }));
}

// --- StringLength ---

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

Result<Tensor> length(KernelContext& context, const std::string& unit) {
  const bool in_characters = unit == "UTF8_CHAR";
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const std::span<const std::string> texts = input.flat<std::string>();
  const std::span<int32_t> lengths = output.mutable_flat<int32_t>();
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto count = in_characters
                           ? std::count_if(texts[i].begin(), texts[i].end(), begins_character)
                           : static_cast<int64_t>(texts[i].size());
    lengths[i] = static_cast<int32_t>(count);
  }
  return output;
}

// --- StringToNumber ---

// What is too large for the type is infinite, and what is too small zero.
template <std::floating_point T>
bool parse(std::string_view text, T& number) {
  absl::string_view digits = absl::StripAsciiWhitespace(to_absl(text));
  const bool is_negative = absl::ConsumePrefix(&digits, "-");
  if (!is_negative) absl::ConsumePrefix(&digits, "+");
  const bool is_hex = absl::ConsumePrefix(&digits, "0x") || absl::ConsumePrefix(&digits, "0X");
  if (absl::StartsWith(digits, "-")) return false;
  const auto [stop, problem] =
      absl::from_chars(digits.data(), digits.data() + digits.size(), number,
                       is_hex ? absl::chars_format::hex : absl::chars_format::general);
  if (problem == std::errc::result_out_of_range && number > T(1)) number = HUGE_VAL;
  if (is_negative) number = -number;
  return problem != std::errc::invalid_argument && stop == digits.data() + digits.size();
}

template <std::integral T>
bool parse(std::string_view text, T& number) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(to_absl(text));
  text = {stripped.data(), stripped.size()};
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end;
}

using ParseLoop = Status (*)(const Tensor& texts, Tensor& numbers);

template <class T>
Status parse_loop(const Tensor& input, Tensor& output) {
  const std::span<const std::string> texts = input.flat<std::string>();
  const std::span<T> numbers = output.mutable_flat<T>();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!parse(texts[i], numbers[i]))
      return invalid("StringToNumberOp could not correctly convert string: ", texts[i]);
  }
  return {};
}

using Parsed = cpu::Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;

Result<Tensor> string_to_number(KernelContext& context, ParseLoop loop) {
  MR_ASSIGN(Tensor output, context.allocate(0, context.input(0).shape()));
  MR_TRY(loop(context.input(0), output));
  return output;
}

// --- AsString ---

Result<std::unique_ptr<Kernel>> make_as_string(const KernelSpec& spec) {
  NumberFormat format;
  MR_ASSIGN(format.precision, spec.attrs.integer("precision"));
  MR_ASSIGN(format.width, spec.attrs.integer("width"));
  MR_ASSIGN(format.fill, spec.attrs.string("fill"));
  MR_ASSIGN(const bool scientific, spec.attrs.boolean("scientific"));
  MR_ASSIGN(const bool shortest, spec.attrs.boolean("shortest"));
  const DType dtype = spec.inputs[0].dtype;
  if (!is_floating(dtype) && !is_complex(dtype) && dtype != DType::string) {
    if (scientific || shortest) {
      return invalid("scientific and shortest format not supported for datatype ",
                     dtype_name(dtype));
    }
    if (format.precision >= 0)
      return invalid("precision not supported for datatype ", dtype_name(dtype));
  }
  if (scientific && shortest) return invalid("Cannot select both scientific and shortest notation");
  format.notation = scientific ? Notation::scientific
                    : shortest ? Notation::shortest
                               : Notation::fixed;
  MR_TRY(format.check());
  return kernel([format](KernelContext& context) -> Result<Tensor> {
    const Tensor& input = context.input(0);
    MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
    const std::span<std::string> texts = output.mutable_flat<std::string>();
    for (size_t i = 0; i < texts.size(); ++i) texts[i] = format.text_of(input, i);
    return output;
  })(spec);
}

// --- StringSplit ---

// Cuts at any of the delimiters' characters; at each byte if there are none.
void cut_at_any(std::string_view text, std::string_view delimiters, bool skip_empty,
                std::vector<std::string_view>& pieces) {
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return;
  }
  if (text.empty()) return;  // no piece, not even an empty one
  for (size_t begin = 0; begin <= text.size();) {
    // Of one delimiter alone find() looks for it as memory is searched for a byte.
    const size_t found = delimiters.size() == 1 ? text.find(delimiters.front(), begin)
                                                : text.find_first_of(delimiters, begin);
    const size_t end = std::min(found, text.size());
    if (end > begin || !skip_empty) pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// Cuts as TensorFlow does: at runs of white space if there is no separator. Of these what is left
// after `most` cuts is the last piece even if it is nothing.
void cut_at_separator(std::string_view text, std::string_view separator, int64_t most,
                      std::vector<std::string_view>& pieces) {
  if (most == 0) {
    pieces.push_back(text);
    return;
  }
  const size_t before = pieces.size();
  const auto may_cut = [&] {
    return most < 0 || static_cast<int64_t>(pieces.size() - before) < most;
  };
  if (separator.empty()) {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    size_t begin = text.find_first_not_of(kSpace);
    const bool is_any = begin != std::string_view::npos;
    while (begin != std::string_view::npos && may_cut()) {
      const size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
      pieces.push_back(text.substr(begin, end - begin));
      begin = text.find_first_not_of(kSpace, end);
    }
    if (is_any && !may_cut()) pieces.push_back(text.substr(std::min(begin, text.size())));
    return;
  }
  size_t begin = 0;
  for (size_t end; may_cut() && (end = text.find(separator, begin)) != std::string_view::npos;) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  pieces.push_back(text.substr(begin));
}

// A sparse matrix: row and column of each piece, the pieces, and the matrix's dims.
template <class Cut>
Status split_rows_of(KernelContext& context, Cut cut) {
  const Tensor& input = context.input(0);
  if (input.shape().rank() != 1)
    return invalid("input must be a vector, got shape: ", input.shape().to_string());
  const std::span<const std::string> texts = input.flat<std::string>();
  std::vector<std::string_view> pieces;
  std::vector<size_t> ends;  // of each row's pieces
  int64_t widest = 0;
  CancelProbe probe(context);
  for (const std::string& text : texts) {
    const size_t before = pieces.size();
    cut(text, pieces);
    ends.push_back(pieces.size());
    widest = std::max(widest, static_cast<int64_t>(pieces.size() - before));
    if (!probe.go_on(1 + static_cast<int64_t>(pieces.size() - before))) return probe.status();
  }
  const auto count = static_cast<int64_t>(pieces.size());
  MR_ASSIGN(Tensor indices, context.allocate(0, {count, 2}));
  MR_ASSIGN(Tensor values, context.allocate(1, {count}));
  int64_t* const place = indices.mutable_flat<int64_t>().data();
  std::string* const value = values.mutable_flat<std::string>().data();
  for (size_t row = 0, i = 0; row < ends.size(); ++row) {
    for (const size_t first = i; i < ends[row]; ++i) {
      place[2 * i] = static_cast<int64_t>(row);
      place[2 * i + 1] = static_cast<int64_t>(i - first);
    }
  }
  MR_TRY(probe.in_pieces(count, [&](int64_t begin, int64_t some) {
    for (int64_t i = begin; i < begin + some; ++i) value[i].assign(pieces[static_cast<size_t>(i)]);
  }));
  context.set_output(0, std::move(indices));
  context.set_output(1, std::move(values));
  context.set_output(2, Tensor::vector<int64_t>({input.num_elements(), widest}));
  return {};
}

Result<std::string> scalar_text(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be a scalar, got shape: ", tensor.shape().to_string());
  return tensor.item<std::string>();
}

Status split(KernelContext& context, bool skip_empty) {
  MR_ASSIGN(const std::string delimiters, scalar_text(context.input(1), "delimiter"));
  return split_rows_of(context, [&](std::string_view text, auto& pieces) {
    cut_at_any(text, delimiters, skip_empty, pieces);
  });
}

Status split_v2(KernelContext& context, int64_t most) {
  MR_ASSIGN(const std::string separator, scalar_text(context.input(1), "sep"));
  return split_rows_of(context, [&](std::string_view text, auto& pieces) {
    cut_at_separator(text, separator, most, pieces);
  });
}

Status infer_split(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  context.set_output(0, PartialShape{kUnknownDim, 2});
  context.set_output(1, PartialShape::of_rank(1));
  context.set_output(2, PartialShape{2});
  return {};
}

Status register_splits(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "StringSplit",
      .doc = "Each string cut at the characters of delimiter, as the rows of a sparse matrix.",
      .signature = "input: string, delimiter: string -> indices: int64, values: string, "
                   "shape: int64 | skip_empty: bool = true",
      .infer = infer_split,
      .cpu = kernel_with(split, boolean("skip_empty")),
      .not_differentiable = "strings have no gradient",
      .examples =
          {"['a b' ' c'], ' ' -> [[0 0] [0 1] [1 0]], ['a' 'b' 'c'], [2 2]",
           "['a,,b'], ',' -> [[0 0] [0 1] [0 2]], ['a' '' 'b'], [1 3] | skip_empty = false"},
  }));
  return ops.add({
      .name = "StringSplitV2",
      .doc = "Each string cut at sep (at runs of white space if it is empty), at most maxsplit "
             "times, as the rows of a sparse matrix.",
      .signature = "input: string, sep: string -> indices: int64, values: string, shape: int64 | "
                   "maxsplit: int = -1",
      .infer = infer_split,
      .cpu = kernel_with(split_v2, integer("maxsplit")),
      .not_differentiable = "strings have no gradient",
      .examples = {"['a  b ' 'c'], '' -> [[0 0] [0 1] [1 0]], ['a' 'b' 'c'], [2 2]",
                   "['a<>b<>c'], '<>' -> [[0 0] [0 1]], ['a' 'b<>c'], [1 2] | maxsplit = 1"},
  });
}

}  // namespace

Status register_strings(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "StringJoin",
      .doc = "The strings of all inputs one after another, element by element; scalars repeat.",
      .signature = "inputs: N*string -> output: string | N: int >= 0, separator: string = ''",
      .infer = infer_join,
      .cpu = kernel_with(join, text("separator")),
      .not_differentiable = "strings have no gradient",
      .examples = {"['a' 'b'], 'c' -> ['a-c' 'b-c'] | separator = '-'"},
  }));
  MR_TRY(ops.add({
      .name = "StringLength",
      .doc = "How many bytes, or UTF-8 characters, each string has.",
      .signature = "input: string -> output: int32 | unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
      .infer = infer::same_as_input,
      .cpu = kernel_with(length, text("unit")),
      .not_differentiable = "strings have no gradient",
      .examples = {"['abc' ''] -> [3 0]", "['\u00e4\u20ac'] -> [2] | unit = 'UTF8_CHAR'"},
  }));
  MR_TRY(ops.add({
      .name = "StringToNumber",
      .doc = "The number that each string spells.",
      .signature = "string_tensor: string -> output: out_type | "
                   "out_type: {float, double, int32, int64, uint32, uint64} = float",
      .infer = infer::same_as_input,
      .cpu = kernel_with(string_to_number,
                         cpu::loop_of_output<Parsed>([]<class T>() { return &parse_loop<T>; })),
      .not_differentiable = "strings have no gradient",
      .examples = {"['12' ' 7 '] -> [12 7]", "['-1.5e1'] -> [-15] | out_type = double",
                   "['-0xF' '1e-999' '1e999'] -> [-15 0 inf] | out_type = float"},
  }));
  MR_TRY(ops.add({
      .name = "AsString",
      .doc = "Each element spelled out.",
      .signature =
          "input: T -> output: string | T: {float, double, int32, uint8, int16, int8, "
          "int64, bfloat16, uint16, half, uint32, uint64, complex64, complex128, bool, "
          "string}, precision: int = -1, scientific: bool = false, shortest: bool = false, "
          "width: int = -1, fill: string = ''",
      .infer = infer::same_as_input,
      .cpu = make_as_string,
      .not_differentiable = "strings have no gradient",
      .examples = {"[1 0]", "[12 -7] -> ['12' '-7'] | T = int32",
                   "[1.5] -> ['1.500000'] | T = float",
                   "[1.5] -> ['1.50'] | T = double, precision = 2",
                   "[1.5] -> ['1.5'] | T = float, shortest = true",
                   "[7] -> ['007'] | T = int64, width = 3, fill = '0'",
                   "[1 0] -> ['true' 'false'] | T = bool",
                   "[2] -> ['(2.0,0.0)'] | T = complex64, precision = 1"},
  }));
  return register_splits(ops);
}

}  // namespace millrace
