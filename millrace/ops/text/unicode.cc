// Part of families.h: register_unicode.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/text/charsets.h"
#include "millrace/ops/text/code_points.h"
#include "millrace/ops/text/families.h"
#include "millrace/ops/text/letters.h"
#include "millrace/ops/text/memory.h"

namespace millrace {
namespace {

constexpr const char* kNoGradientOfText = "strings and code points have no gradient";

// --- What nodes say of errors and of charsets ---

// What becomes of what can't be read or written.
struct Repair {
  enum class Policy { strict, replace, ignore } policy = Policy::replace;
  int32_t replacement = kReplacement;

  // Adds what stands for a broken character: nothing, or the replacement.
  template <class Add>
  void mend(Add add) const {
    if (policy != Policy::ignore) add(replacement);
  }
};

struct BoundRepair {
  Result<Repair> read(const KernelSpec& spec) const {
    Repair repair;
    MR_ASSIGN(const std::string errors, spec.attrs.string("errors"));
    repair.policy = errors == "strict"   ? Repair::Policy::strict
                    : errors == "ignore" ? Repair::Policy::ignore
                                         : Repair::Policy::replace;
    MR_ASSIGN(const int64_t replacement, spec.attrs.integer("replacement_char"));
    if (replacement < 0 || replacement > kLastCodePoint) {
      return invalid("replacement_char out of unicode codepoint range: ", replacement,
                     " is not in [0, ", kLastCodePoint, "]");
    }
    repair.replacement = static_cast<int32_t>(replacement);
    return repair;
  }
};

struct BoundCharset {
  Result<Charset> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string name, spec.attrs.string("input_encoding"));
    return Charset::named(name);
  }
};

struct BoundUtf {
  Result<Utf> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string name, spec.attrs.string("output_encoding"));
    return name == "UTF-16-BE" ? Utf::utf16_be : name == "UTF-32-BE" ? Utf::utf32_be : Utf::utf8;
  }
};

Status broken_text() { return invalid("Invalid formatting on input string"); }

bool is_c0_control(int32_t code_point) { return code_point <= 0x1f; }

// --- UnicodeDecode, UnicodeDecodeWithOffsets ---

// What a node makes of one text after another.
struct TextDecoder {
  CharsetReader reader;
  Repair repair;
  bool replaces_controls = false;

  // Calls add(code point, the byte that it begins at).
  template <class Add>
  Status decode(std::string_view text, Add add) {
    bool is_broken = false;
    reader.read(text, [&](const Character& character) {
      const auto add_here = [&](int32_t code_point) { add(code_point, character.begin); };
      is_broken |= character.is_broken;
      if (character.is_broken || (replaces_controls && is_c0_control(character.code_point))) {
        repair.mend(add_here);
      } else {
        add_here(character.code_point);
      }
    });
    return is_broken && repair.policy == Repair::Policy::strict ? broken_text() : Status();
  }
};

Status decode_texts(KernelContext& context, const Charset& charset, const Repair& repair,
                    bool replaces_controls) {
  MR_ASSIGN(CharsetReader reader, charset.open());
  TextDecoder decoder{std::move(reader), repair, replaces_controls};
  const auto texts = context.input(0).flat<std::string>();
  CancelProbe probe(context);
  // Twice: characters are counted before memory is asked for, which a vector would take unasked.
  std::vector<int64_t> splits = {0};
  splits.reserve(texts.size() + 1);
  int64_t count = 0;
  for (const std::string& text : texts) {
    MR_TRY(decoder.decode(text, [&](int32_t, size_t) { ++count; }));
    splits.push_back(count);
    if (!probe.go_on(static_cast<int64_t>(1 + text.size()))) return probe.status();
  }
  MR_ASSIGN(Tensor made_splits,
            integer_tensor(context.output_dtype(0), {static_cast<int64_t>(splits.size())}, splits));
  MR_ASSIGN(Tensor code_points, context.allocate(1, {count}));
  Tensor begins;
  const bool has_begins = context.num_outputs() == 3;
  if (has_begins) {
    MR_ASSIGN(begins, context.allocate(2, {count}));
  }
  int32_t* next = code_points.mutable_flat<int32_t>().data();
  const int32_t* const end = next + count;
  int64_t* next_begin = has_begins ? begins.mutable_flat<int64_t>().data() : nullptr;
  for (const std::string& text : texts) {
    MR_TRY(decoder.decode(text, [&](int32_t code_point, size_t begin) {
      if (next == end) return;  // a charset of the machine's might say more than the first time
      *next++ = code_point;
      if (next_begin != nullptr) *next_begin++ = static_cast<int64_t>(begin);
    }));
    if (!probe.go_on(static_cast<int64_t>(1 + text.size()))) return probe.status();
  }
  context.set_output(0, std::move(made_splits));
  context.set_output(1, std::move(code_points));
  if (has_begins) context.set_output(2, std::move(begins));
  return {};
}

Status infer_decoded_texts(InferContext& context) {
  const auto known = context.input(0).to_shape();
  const int64_t count = known ? known->num_elements() : kUnknownDim;
  const bool is_size = count >= 0 && count < std::numeric_limits<int64_t>::max();
  context.set_output(0, PartialShape{is_size ? count + 1 : kUnknownDim});
  for (int slot = 1; slot < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::of_rank(1));
  return {};
}

// --- UnicodeTranscode ---

Result<Tensor> transcode(KernelContext& context, const Charset& charset, Utf form,
                         const Repair& repair, bool replaces_controls) {
  MR_ASSIGN(CharsetReader reader, charset.open());
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<std::string>();
  CancelProbe probe(context);
  for (size_t i = 0; i < texts.size(); ++i) {
    MR_TRY(within_memory([&]() -> Status {
      bool is_broken = false;
      const auto add = [&](int32_t code_point) { append_character(form, code_point, results[i]); };
      reader.read(texts[i], [&](const Character& character) {
        // Here, unlike in decoding, a control character is an error too, as in TensorFlow.
        if (character.is_broken || (replaces_controls && is_c0_control(character.code_point))) {
          is_broken = true;
          repair.mend(add);
        } else {
          add(character.code_point);
        }
      });
      return is_broken && repair.policy == Repair::Policy::strict ? broken_text() : Status();
    }));
    if (!probe.go_on(static_cast<int64_t>(1 + texts[i].size()))) return probe.status();
  }
  return output;
}

// --- UnicodeEncode ---

Status check_rows(const std::vector<int64_t>& splits, int64_t count) {
  if (splits.empty()) {
    return invalid("Input_splits should contain elements, but given input_values has ",
                   splits.size(), " elements");
  }
  if (splits.front() != 0) return invalid("First value in input_splits must be zero.");
  if (splits.back() != count)
    return invalid("Last value in input_splits must be equal to length of input_tensor.");
  if (!std::ranges::is_sorted(splits))
    return invalid("Values in input_splits must be equal or in ascending order.");
  return {};
}

// Adds one row to a text; the row begins at `begin`.
Status encode_row(std::span<const int32_t> row, int64_t begin, Utf form, const Repair& repair,
                  std::string& text) {
  const auto add = [&](int32_t code_point) { append_character(form, code_point, text); };
  for (size_t i = 0; i < row.size(); ++i) {
    if (is_character(row[i])) {
      add(row[i]);
    } else if (repair.policy == Repair::Policy::strict) {
      return invalid("Code point is out of range for Unicode, or is a surrogate: ", row[i], " at ",
                     begin + static_cast<int64_t>(i));
    } else {
      repair.mend(add);
    }
  }
  return {};
}

Result<Tensor> encode_rows(KernelContext& context, Utf form, const Repair& repair) {
  if (context.input(0).shape().rank() != 1 || context.input(1).shape().rank() != 1) {
    return invalid("Both the input_tensor and input_splits should be of rank 1, not of shapes ",
                   context.input(0).shape().to_string(), " and ",
                   context.input(1).shape().to_string());
  }
  const auto code_points = context.input(0).flat<int32_t>();
  MR_ASSIGN(const std::vector<int64_t> splits, read_elements(context.input(1), "input_splits"));
  MR_TRY(check_rows(splits, static_cast<int64_t>(code_points.size())));
  MR_ASSIGN(Tensor output, context.allocate(0, Shape{static_cast<int64_t>(splits.size()) - 1}));
  const auto texts = output.mutable_flat<std::string>();
  CancelProbe probe(context);
  for (size_t row = 0; row < texts.size(); ++row) {
    const int64_t length = splits[row + 1] - splits[row];
    const auto part =
        code_points.subspan(static_cast<size_t>(splits[row]), static_cast<size_t>(length));
    MR_TRY(within_memory([&] { return encode_row(part, splits[row], form, repair, texts[row]); }));
    if (!probe.go_on(1 + length)) return probe.status();
  }
  return output;
}

Status infer_encoded_rows(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape splits, context.input_of_rank(1, 1));
  const int64_t count = splits.has_rank() ? splits.dim(0) : kUnknownDim;
  context.set_output(0, PartialShape{count > 0 ? count - 1 : kUnknownDim});
  return {};
}

// --- UnicodeScript ---

Result<Tensor> scripts(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto code_points = input.flat<int32_t>();
  const auto numbers = output.mutable_flat<int32_t>();
  CancelProbe probe(context);
  MR_TRY(probe.in_pieces(input.num_elements(), [&](int64_t begin, int64_t count) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(begin + count); ++i)
      numbers[i] = script_of(code_points[i]);
  }));
  return output;
}

const std::string kErrorsAttr = "errors: {'strict', 'replace', 'ignore'} = 'replace', ";
const std::string kOutputAttr = "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}, ";
const std::string kReplacementAttr = "replacement_char: int = 65533";
const std::string kControlsAttr = ", replace_control_characters: bool = false";
const std::string kSplitsAttr = ", Tsplits: {int32, int64} = int64";

OpDef decoding(std::string name, std::string doc, const std::string& more_outputs,
               std::vector<std::string> examples) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "input: string -> row_splits: Tsplits, char_values: int32" + more_outputs +
                   " | input_encoding: string, " + kErrorsAttr + kReplacementAttr + kControlsAttr +
                   kSplitsAttr,
      .infer = infer_decoded_texts,
      .cpu = kernel_with(decode_texts, BoundCharset(), BoundRepair(),
                         boolean("replace_control_characters")),
      .not_differentiable = kNoGradientOfText,
      .examples = std::move(examples),
  };
}

}  // namespace

Status register_unicode(OpRegistry& ops) {
  MR_TRY(ops.add(decoding("UnicodeDecode",
                          "The code points of each string, as rows of a ragged matrix: where rows "
                          "begin and end, and what is in them.",
                          "",
                          {"['a\u20ac' '' 'b'] -> [0 2 2 3], [97 8364 98] | "
                           "input_encoding = 'UTF-8'",
                           "[['a\xff'] ['\x01']] -> [0 2 3], [97 42 42] | input_encoding = "
                           "'US-ASCII', replacement_char = 42, replace_control_characters = true, "
                           "Tsplits = int32"})));
  MR_TRY(
      ops.add(decoding("UnicodeDecodeWithOffsets",
                       "The code points of each string, as rows of a ragged matrix, and at which "
                       "byte of its string each begins.",
                       ", char_to_byte_starts: int64",
                       {"['a\u20ac\xff' 'b'] -> [0 2 3], [97 8364 98], [0 1 0] | "
                        "input_encoding = 'UTF-8', errors = 'ignore'"})));
  MR_TRY(ops.add({
      .name = "UnicodeEncode",
      .doc = "The rows of a ragged matrix of code points as strings.",
      .signature = "input_values: int32, input_splits: Tsplits -> output: string | " + kErrorsAttr +
                   kOutputAttr + kReplacementAttr + kSplitsAttr,
      .infer = infer_encoded_rows,
      .cpu = kernel_with(encode_rows, BoundUtf(), BoundRepair()),
      .not_differentiable = kNoGradientOfText,
      .examples = {"[97 8364 98], [0 2 2 3] -> ['a\u20ac' '' 'b'] | output_encoding = 'UTF-8'",
                   "[97 55296], [0 2] -> ['a*'] | output_encoding = 'UTF-8', replacement_char = "
                   "42"},
  }));
  MR_TRY(ops.add({
      .name = "UnicodeTranscode",
      .doc = "Each string in another encoding. Which input encodings there are beside UTF-8, "
             "UTF-16, UTF-32, US-ASCII and ISO-8859-1 is up to the machine.",
      .signature = "input: string -> output: string | input_encoding: string, " + kOutputAttr +
                   kErrorsAttr + kReplacementAttr + kControlsAttr,
      .infer = infer::same_as_input,
      .cpu = kernel_with(transcode, BoundCharset(), BoundUtf(), BoundRepair(),
                         boolean("replace_control_characters")),
      .not_differentiable = kNoGradientOfText,
      .examples = {"['a\u20ac' 'b\xff'] -> ['a\u20ac' 'b?'] | input_encoding = 'UTF-8', "
                   "output_encoding = 'UTF-8', replacement_char = 63",
                   "['\xe4'] -> ['\u00e4'] | input_encoding = 'ISO-8859-1', output_encoding = "
                   "'UTF-8'"},
  }));
  return ops.add({
      .name = "UnicodeScript",
      .doc = "Of which script each code point is, by the number that ICU's UScriptCode has for it: "
             "-1 for what is no code point.",
      .signature = "input: int32 -> output: int32",
      .infer = infer::same_as_input,
      .cpu = kernel(scripts),
      .not_differentiable = kNoGradientOfText,
      .examples = {"[97 1041 33464 44 -1] -> [25 8 17 0 -1]"},
  });
}

}  // namespace millrace
