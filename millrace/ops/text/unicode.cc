// Part of families.h: register_unicode.
#include <unicode/schriter.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <memory>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

// What becomes of bytes that are no text, and of numbers that are no character.
struct Malformed {
  enum class Do : uint8_t { replace, ignore, refuse } then = Do::replace;
  int32_t replacement = 0xFFFD;
  bool replaces_controls = false;  // those before the space, too
  bool refuses_controls = false;   // in their place, where what is malformed is refused
};

struct BoundMalformed {
  Result<Malformed> read(const KernelSpec& spec) const {
    Malformed made;
    MR_ASSIGN(const std::string errors, spec.attrs.string("errors"));
    if (errors == "ignore") made.then = Malformed::Do::ignore;
    if (errors == "strict") made.then = Malformed::Do::refuse;
    MR_ASSIGN(const int64_t replacement, spec.attrs.integer("replacement_char"));
    if (replacement < UCHAR_MIN_VALUE || replacement > UCHAR_MAX_VALUE) {
      return invalid("replacement_char out of unicode codepoint range: ", replacement);
    }
    made.replacement = static_cast<int32_t>(replacement);
    if (spec.attrs.find("replace_control_characters") != nullptr) {
      MR_ASSIGN(made.replaces_controls, spec.attrs.boolean("replace_control_characters"));
      // TensorFlow's decoding replaces them all the same.
      made.refuses_controls = spec.attrs.op().name == "UnicodeTranscode";
    }
    return made;
  }
};

// --- bytes to characters ---

struct CloseConverter {
  void operator()(UConverter* converter) const { ucnv_close(converter); }
};
using Converter = std::unique_ptr<UConverter, CloseConverter>;

// A converter has a state: each run has its own.
Result<Converter> open_converter(const std::string& encoding) {
  UErrorCode status = U_ZERO_ERROR;
  Converter made(encoding.empty() ? nullptr : ucnv_open(encoding.c_str(), &status));
  if (made != nullptr && U_SUCCESS(status)) return made;
  return invalid("Could not create converter for input encoding: ", encoding);
}

struct BoundInputEncoding {
  Result<std::string> read(const KernelSpec& spec) const {
    MR_ASSIGN(std::string encoding, spec.attrs.string("input_encoding"));
    MR_TRY(open_converter(encoding).status());
    return encoding;
  }
};

// Notes that there was something, and goes on as if nobody had asked.
void note_malformed(const void* context, UConverterToUnicodeArgs* args, const char* units,
                    int32_t length, UConverterCallbackReason reason, UErrorCode* status) {
  if (reason == UCNV_UNASSIGNED || reason == UCNV_ILLEGAL || reason == UCNV_IRREGULAR)
    *static_cast<bool*>(const_cast<void*>(context)) = true;
  UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, units, length, reason, status);
}

// Characters of ICU's texts are counted by 32 bits.
constexpr size_t kLongestText = size_t{1} << 29;

// visit(character, where it begins among the bytes) of each.
template <class Visit>
Status each_character(const std::string& bytes, UConverter* converter, const Malformed& malformed,
                      Visit visit) {
  if (bytes.size() > kLongestText) {
    return error(Code::resource_exhausted, "a text of ", bytes.size(),
                 " bytes is too long; at most ", kLongestText);
  }
  ucnv_reset(converter);
  UErrorCode status = U_ZERO_ERROR;
  bool is_malformed = false;
  ucnv_setToUCallBack(converter, note_malformed, &is_malformed, nullptr, nullptr, &status);
  if (U_FAILURE(status)) return internal("ICU refuses a callback: ", u_errorName(status));
  const char *next = bytes.data(), *const end = next + bytes.size();
  while (next < end) {
    const int64_t begin = next - bytes.data();
    int32_t character = ucnv_getNextUChar(converter, &next, end, &status);
    if (U_FAILURE(status)) next = end;
    const bool is_control = malformed.replaces_controls && character <= 0x1F;
    if (malformed.then == Malformed::Do::refuse &&
        (is_malformed || (is_control && malformed.refuses_controls)))
      return invalid("Invalid formatting on input string");
    if (is_malformed || is_control) {
      is_malformed = false;
      if (malformed.then == Malformed::Do::ignore) continue;
      character = malformed.replacement;
    }
    visit(character, begin);
  }
  return {};
}

// --- characters to bytes ---

using Encode = std::string (*)(const icu::UnicodeString& text);

std::string as_utf8(const icu::UnicodeString& text) {
  std::string bytes;
  text.toUTF8String(bytes);
  return bytes;
}

std::string as_utf16(const icu::UnicodeString& text) {
  std::string bytes;
  for (int32_t i = 0; i < text.length(); ++i) {
    bytes.push_back(static_cast<char>(text[i] >> 8));
    bytes.push_back(static_cast<char>(text[i] & 0xFF));
  }
  return bytes;
}

std::string as_utf32(const icu::UnicodeString& text) {
  std::string bytes;
  for (icu::StringCharacterIterator at(text); at.hasNext();) {
    const auto character = static_cast<uint32_t>(at.next32PostInc());
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<char>(character >> shift & 0xFF));
  }
  return bytes;
}

struct BoundEncode {
  Result<Encode> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string encoding, spec.attrs.string("output_encoding"));
    return encoding == "UTF-8" ? &as_utf8 : encoding == "UTF-16-BE" ? &as_utf16 : &as_utf32;
  }
};

// --- the ops ---

int64_t work_of(const std::string& bytes) { return static_cast<int64_t>(1 + bytes.size()); }

Result<Tensor> transcode(KernelContext& context, const std::string& encoding, Encode encode,
                         const Malformed& malformed) {
  MR_ASSIGN(const Converter converter, open_converter(encoding));
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  const auto out = made.mutable_flat<std::string>();
  size_t at = 0;
  CancelProbe probe(context);
  for (const std::string& bytes : context.input(0).flat<std::string>()) {
    icu::UnicodeString text;
    MR_TRY(each_character(bytes, converter.get(), malformed,
                          [&](int32_t character, int64_t) { text.append(UChar32{character}); }));
    out[at++] = encode(text);
    if (!probe.go_on(work_of(bytes))) return probe.status();
  }
  return made;
}

// With a third output, where each character begins.
Status decode_characters(KernelContext& context, const std::string& encoding,
                         const Malformed& malformed) {
  MR_ASSIGN(const Converter converter, open_converter(encoding));
  const bool has_starts = context.num_outputs() == 3;
  std::vector<int32_t> characters;
  std::vector<int64_t> splits{0}, starts;
  CancelProbe probe(context);
  for (const std::string& bytes : context.input(0).flat<std::string>()) {
    MR_TRY(each_character(bytes, converter.get(), malformed, [&](int32_t character, int64_t begin) {
      characters.push_back(character);
      if (has_starts) starts.push_back(begin);
    }));
    splits.push_back(static_cast<int64_t>(characters.size()));
    if (!probe.go_on(work_of(bytes))) return probe.status();
  }
  const auto rows = static_cast<int64_t>(splits.size());
  MR_TRY(context.set_output(0, integer_tensor(context.output_dtype(0), {rows}, splits)));
  context.set_output(1, Tensor::vector<int32_t>(std::span<const int32_t>(characters)));
  if (has_starts) context.set_output(2, Tensor::vector<int64_t>(std::span<const int64_t>(starts)));
  return {};
}

Status infer_decode_characters(InferContext& context) {
  const PartialShape& input = context.input(0);
  const auto whole = input.to_shape();
  context.set_output(0, PartialShape{whole ? whole->num_elements() + 1 : kUnknownDim});
  context.set_output(1, PartialShape{kUnknownDim});
  if (context.num_outputs() == 3) context.set_output(2, PartialShape{kUnknownDim});
  return {};
}

Status check_encode_splits(std::span<const int64_t> splits, int64_t length) {
  if (splits.empty()) {
    return invalid("Input_splits should contain elements, but given input_values has 0 elements");
  }
  if (splits[0] != 0) return invalid("First value in input_splits must be zero.");
  if (splits.back() != length)
    return invalid("Last value in input_splits must be equal to length of input_tensor.");
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] < splits[i - 1])
      return invalid("Values in input_splits must be equal or in ascending order.");
    if (splits[i] > length) {
      return invalid("Values in input_splits must be less than or equal to input_tensor length.");
    }
  }
  return {};
}

Result<Tensor> encode_characters(KernelContext& context, Encode encode,
                                 const Malformed& malformed) {
  const auto characters = context.input(0).flat<int32_t>();
  MR_ASSIGN(const std::vector<int64_t> splits, read_elements(context.input(1), "input_splits"));
  MR_TRY(check_encode_splits(splits, static_cast<int64_t>(characters.size())));
  MR_ASSIGN(Tensor made, context.allocate(0, {static_cast<int64_t>(splits.size()) - 1}));
  const auto out = made.mutable_flat<std::string>();
  CancelProbe probe(context);
  for (size_t row = 0; row < out.size(); ++row) {
    if (static_cast<size_t>(splits[row + 1] - splits[row]) > kLongestText) {
      return error(Code::resource_exhausted, "a text of ", splits[row + 1] - splits[row],
                   " characters is too long; at most ", kLongestText);
    }
    icu::UnicodeString text;
    for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      UChar32 character = characters[static_cast<size_t>(i)];
      const bool is_one = character >= UCHAR_MIN_VALUE && character <= UCHAR_MAX_VALUE &&
                          !U_IS_SURROGATE(character);
      if (!is_one) {
        if (malformed.then == Malformed::Do::refuse)
          return invalid("Code point is out of range for Unicode, or is a surrogate.");
        if (malformed.then == Malformed::Do::ignore) continue;
        character = malformed.replacement;
      }
      text.append(character);
    }
    out[row] = encode(text);
    if (!probe.go_on(1 + text.length())) return probe.status();
  }
  return made;
}

Status infer_encode_characters(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape splits, context.input_of_rank(1, 1));
  const bool is_known = splits.has_rank() && splits.dim(0) >= 1;
  context.set_output(0, PartialShape{is_known ? splits.dim(0) - 1 : kUnknownDim});
  return {};
}

Result<Tensor> scripts(KernelContext& context) {
  const auto characters = context.input(0).flat<int32_t>();
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  const auto out = made.mutable_flat<int32_t>();
  MR_TRY(CancelProbe(context).in_pieces(
      context.input(0).num_elements(), [&](int64_t begin, int64_t count) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(begin + count); ++i) {
          UErrorCode status = U_ZERO_ERROR;
          const UScriptCode script = uscript_getScript(characters[i], &status);
          out[i] = U_SUCCESS(status) ? script : USCRIPT_INVALID_CODE;
        }
      }));
  return made;
}

constexpr const char* kNoGradient = "text has no gradient";
constexpr std::string_view kErrors =
    "errors: {'strict', 'replace', 'ignore'} = 'replace', replacement_char: int = 65533";
constexpr std::string_view kControls = ", replace_control_characters: bool = false";
constexpr std::string_view kOutput = "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}, ";

Status add_decode(OpRegistry& ops, std::string name, std::string doc, std::string_view outputs,
                  std::string_view example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat("input: string -> row_splits: Tsplits, char_values: int32", outputs,
                           " | input_encoding: string, ", kErrors, kControls,
                           ", Tsplits: {int32, int64} = int64"),
      .infer = infer_decode_characters,
      .cpu = kernel_with(decode_characters, BoundInputEncoding(), BoundMalformed()),
      .not_differentiable = kNoGradient,
      .examples = {str_cat("['ab' '' 'c'] -> [0 2 2 3], [97 98 99]", example,
                           " | input_encoding = 'UTF-8'")},
  });
}

}  // namespace

Status register_unicode(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "UnicodeTranscode",
      .doc = "Texts of one encoding in another; what is malformed is replaced, left out, or "
             "refused.",
      .signature = str_cat("input: string -> output: string | input_encoding: string, ", kOutput,
                           kErrors, kControls),
      .infer = infer::same_as_input,
      .cpu = kernel_with(transcode, BoundInputEncoding(), BoundEncode(), BoundMalformed()),
      .not_differentiable = kNoGradient,
      .examples = {"['ab' ''] -> ['ab' ''] | input_encoding = 'latin1', output_encoding = 'UTF-8'"},
  }));
  MR_TRY(add_decode(ops, "UnicodeDecode",
                    "The characters of texts, as the rows of a ragged matrix of code points.", "",
                    ""));
  MR_TRY(add_decode(ops, "UnicodeDecodeWithOffsets",
                    "The characters of texts, as the rows of a ragged matrix of code points, and "
                    "at which byte each begins.",
                    ", char_to_byte_starts: int64", ", [0 1 0]"));
  MR_TRY(ops.add({
      .name = "UnicodeEncode",
      .doc = "The rows of a ragged matrix of code points as texts.",
      .signature = str_cat("input_values: int32, input_splits: Tsplits -> output: string | ",
                           kErrors, ", ", kOutput, "Tsplits: {int32, int64} = int64"),
      .infer = infer_encode_characters,
      .cpu = kernel_with(encode_characters, BoundEncode(), BoundMalformed()),
      .not_differentiable = kNoGradient,
      .examples = {"[97 98 99], [0 2 2 3] -> ['ab' '' 'c'] | output_encoding = 'UTF-8'"},
  }));
  return ops.add({
      .name = "UnicodeScript",
      .doc = "Of which script each character is, by ICU's numbers; -1 for what is no character.",
      .signature = "input: int32 -> output: int32",
      .infer = infer::same_as_input,
      .cpu = kernel(scripts),
      .not_differentiable = kNoGradient,
      .examples = {"[[97 1073 48] [1114112 -1 19968]] -> [[25 8 0] [-1 -1 17]]"},
  });
}

}  // namespace millrace
