// Text as code points: what UTF-8, UTF-16 and UTF-32 hold, broken or not, and back. What is broken
// is told apart as ICU does it for TensorFlow: of UTF-8 the longest beginning of a character that
// is not there whole is one, and any other wrong byte; of UTF-16 half a pair; of UTF-32 four bytes.
// Other charsets are those of charsets.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace millrace {

// What stands for characters that could not be read.
inline constexpr int32_t kReplacement = 0xfffd;
inline constexpr int32_t kLastCodePoint = 0x10ffff;

// One character of a text, or what is no character.
struct Character {
  int32_t code_point = kReplacement;  // kReplacement if it is broken
  size_t begin = 0;                   // where its bytes begin
  bool is_broken = false;
};
using TakeCharacter = absl::FunctionRef<void(const Character&)>;

// `marked`: as a byte order mark at the front says, which is no character then; without one, big.
enum class ByteOrder { big, little, marked };

// Each calls `take` for all characters, in order.
void read_utf8(std::string_view text, TakeCharacter take);
void read_utf16(std::string_view text, ByteOrder order, TakeCharacter take);
void read_utf32(std::string_view text, ByteOrder order, TakeCharacter take);

// Whether it may stand in a text: from 0 to kLastCodePoint, and no half of a pair.
bool is_character(int64_t code_point);

// The forms that are written.
enum class Utf { utf8, utf16_be, utf32_be };

// Adds a code point from 0 to kLastCodePoint. Halves of pairs, which only a caller's own
// replacement can be, are kept as they are but in UTF-8, which has none: there it is kReplacement.
void append_character(Utf form, int32_t code_point, std::string& text);

}  // namespace millrace
