// Part of families.h: register_pieces.
#include <algorithm>

#include "absl/strings/ascii.h"

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/text/families.h"
#include "millrace/ops/text/letters.h"
#include "millrace/ops/text/memory.h"

namespace millrace {
namespace {

constexpr const char* kStrings = "strings have no gradient";

// --- Substr ---

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Where characters begin, and the end.
std::vector<size_t> character_places(const std::string& text) {
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i])) places.push_back(i);
  }
  places.push_back(text.size());
  return places;
}

// [begin, end) of a piece of `size` units; nullopt if there is no such place. A negative length
// reaches to the end in bytes, and has nothing in characters, as in TensorFlow.
struct Piece {
  size_t begin, end;
};
std::optional<Piece> piece_of(int64_t size, int64_t place, int64_t length) {
  if (place < -size || place > size) return std::nullopt;
  const int64_t begin = place < 0 ? place + size : place;
  const int64_t left = size - begin;
  const int64_t count = length < 0 ? left : std::min(length, left);
  return Piece{static_cast<size_t>(begin), static_cast<size_t>(begin + count)};
}

Result<std::string> cut(const std::string& text, int64_t place, int64_t length, bool in_characters,
                        int64_t index) {
  if (!in_characters) {
    const auto piece = piece_of(static_cast<int64_t>(text.size()), place, length);
    if (!piece)
      return invalid("pos ", place, " out of range for string b'", text, "' at index ", index);
    return text.substr(piece->begin, piece->end - piece->begin);
  }
  const std::vector<size_t> places = character_places(text);
  const auto piece =
      piece_of(static_cast<int64_t>(places.size()) - 1, place, std::max<int64_t>(length, 0));
  if (!piece) return invalid("pos ", place, " out of range for string at index ", index);
  return text.substr(places[piece->begin], places[piece->end] - places[piece->begin]);
}

Result<Tensor> substr(KernelContext& context, const std::string& unit) {
  const Tensor& input = context.input(0);
  if (context.input(1).shape() != context.input(2).shape()) {
    return invalid(
        "pos and len should have the same shape, got: ", context.input(1).shape().to_string(),
        " vs. ", context.input(2).shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> places, read_elements(context.input(1), "pos"));
  MR_ASSIGN(const std::vector<int64_t> lengths, read_elements(context.input(2), "len"));
  MR_ASSIGN(const Shape shape, broadcast_shapes(input.shape(), context.input(1).shape()));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  const Strides of_text = broadcast_strides(input.shape(), shape);
  const Strides of_place = broadcast_strides(context.input(1).shape(), shape);
  const Walk<2> walk(shape.dims(), {of_text, of_place});
  const auto texts = input.flat<std::string>();
  const auto pieces = output.mutable_flat<std::string>();
  const bool in_characters = unit == "UTF8_CHAR";
  size_t next = 0;
  Status problem;
  walk.each_run([&](const auto& offsets) {
    for (int64_t i = 0; i < walk.run_length(); ++i) {
      const auto at = static_cast<size_t>(offsets[0] + i * walk.run_stride(0));
      const auto place = static_cast<size_t>(offsets[1] + i * walk.run_stride(1));
      auto piece =
          cut(texts[at], places[place], lengths[place], in_characters, static_cast<int64_t>(at));
      if (!piece.ok()) {
        problem = piece.status();
        return false;
      }
      pieces[next++] = *std::move(piece);
    }
    return true;
  });
  MR_TRY(problem);
  return output;
}

Status infer_substr(InferContext& context) {
  MR_TRY(context.input(1).merge(context.input(2)));
  return context.set_output(0, broadcast_shapes(context.input(0), context.input(1)));
}

// --- StringStrip, StringLower, StringUpper ---

template <class Change>
Result<Tensor> each_changed(KernelContext& context, Change change) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<std::string>();
  for (size_t i = 0; i < texts.size(); ++i) results[i] = change(texts[i]);
  return output;
}

Result<Tensor> strip(KernelContext& context) {
  return each_changed(context, [](const std::string& text) {
    return std::string(absl::StripAsciiWhitespace(text));
  });
}

// Whether a node may change letters of other alphabets.
struct BoundEncoding {
  Result<bool> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string encoding, spec.attrs.string("encoding"));
    if (!encoding.empty() && encoding != "utf-8") {
      return invalid("only utf-8 or '' (no encoding) is supported, received ", encoding);
    }
    return encoding == "utf-8";
  }
};

template <class Change>
Result<Tensor> each_in_case(KernelContext& context, Change change) {
  Status problem;
  CancelProbe probe(context);
  MR_ASSIGN(Tensor output, each_changed(context, [&](const std::string& text) {
              if (!problem.ok()) return std::string();
              auto changed = within_memory([&] { return change(text); });
              if (!changed.ok()) {
                problem = changed.status();
                return std::string();
              }
              if (!probe.go_on(static_cast<int64_t>(1 + text.size()))) problem = probe.status();
              return *std::move(changed);
            }));
  MR_TRY(problem);
  return output;
}

Result<Tensor> lower(KernelContext& context, bool all_letters) {
  if (all_letters) return each_in_case(context, lower_case);
  return each_changed(context, [](const std::string& text) { return absl::AsciiStrToLower(text); });
}

Result<Tensor> upper(KernelContext& context, bool all_letters) {
  if (all_letters) return each_in_case(context, upper_case);
  return each_changed(context, [](const std::string& text) { return absl::AsciiStrToUpper(text); });
}

// --- EncodeBase64, DecodeBase64: the alphabet that is safe in names and addresses ---

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(const std::string& bytes, bool pad) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) {
      if (k <= count) {
        text.push_back(kAlphabet[bits >> (18 - 6 * k) & 63]);
      } else if (pad) {
        text.push_back('=');
      }
    }
  }
  return text;
}

Result<std::string> decoded(std::string_view text) {
  // Padding fills up to a multiple of four, or is not there.
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return invalid("Base64 string length cannot be 1 modulo 4.");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return invalid("Invalid character found in base64.");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

Result<Tensor> encode(KernelContext& context, bool pad) {
  return each_changed(context, [pad](const std::string& bytes) { return encoded(bytes, pad); });
}

Result<Tensor> decode(KernelContext& context) {
  Status problem;
  MR_ASSIGN(Tensor output, each_changed(context, [&](const std::string& text) {
              auto bytes = decoded(text);
              if (bytes.ok()) return *std::move(bytes);
              if (problem.ok()) problem = bytes.status();
              return std::string();
            }));
  MR_TRY(problem);
  return output;
}

Status add_each(OpRegistry& ops, std::string name, std::string doc, const std::string& attrs,
                KernelFactory cpu, std::vector<std::string> examples) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "input: string -> output: string" + attrs,
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .not_differentiable = kStrings,
      .examples = std::move(examples),
  });
}

}  // namespace

Status register_pieces(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Substr",
      .doc = "From each string `len` bytes (or UTF-8 characters) from `pos` on; negative places "
             "count from the end.",
      .signature = "input: string, pos: T, len: T -> output: string | T: {int32, int64}, "
                   "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
      .infer = infer_substr,
      .cpu = kernel_with(substr, text("unit")),
      .not_differentiable = kStrings,
      .examples = {"['hello' 'ab'], 1, 2 -> ['el' 'b']",
                   "['hello' 'ab'], [-3 0], [9 1] -> "
                   "['llo' 'a']",
                   "['h\u00e4ello'], 1, 2 -> ['\u00e4e'] | unit = 'UTF8_CHAR'"},
  }));
  MR_TRY(add_each(ops, "StringStrip", "Each string without white space at its ends.", "",
                  kernel(strip), {"['  a b ' '' ' '] -> ['a b' '' '']"}));
  const std::string encoding = " | encoding: string = ''";
  MR_TRY(
      add_each(ops, "StringLower",
               "Each string with A to Z as a to z, or, where encoding is utf-8, with all letters "
               "in lower case.",
               encoding, kernel_with(lower, BoundEncoding()),
               {"['aB C'] -> ['ab c']",
                "['\u00c4\u039f\u03a3 A'] -> ['\u00e4\u03bf\u03c2 a'] | encoding = 'utf-8'"}));
  MR_TRY(
      add_each(ops, "StringUpper",
               "Each string with a to z as A to Z, or, where encoding is utf-8, with all letters "
               "in upper case.",
               encoding, kernel_with(upper, BoundEncoding()),
               {"['aB c'] -> ['AB C']", "['\u00e4\u00df'] -> ['\u00c4SS'] | encoding = 'utf-8'"}));
  MR_TRY(add_each(ops, "EncodeBase64",
                  "The bytes of each string as letters, digits, - and _, three bytes in four.",
                  " | pad: bool = false", kernel_with(encode, boolean("pad")),
                  {"['a' 'ab?>'] -> ['YQ' 'YWI_Pg']", "['a'] -> ['YQ=='] | pad = true"}));
  return add_each(ops, "DecodeBase64", "The bytes that EncodeBase64 made each string of.", "",
                  kernel(decode), {"['YQ' 'YQ==' 'YWI_Pg' ''] -> ['a' 'a' 'ab?>' '']"});
}

}  // namespace millrace
