#include "millrace/mapreduce/words_of.h"

#include <array>
#include <cstdint>

namespace millrace::mapreduce {

namespace {

enum class Kind : uint8_t { letter, space, perhaps };

// What a byte says by itself. Four of them begin characters that may be white space.
constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  for (const int space : {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x1f, 0x20})
    kinds[static_cast<size_t>(space)] = Kind::space;
  for (const int lead : {0xc2, 0xe1, 0xe2, 0xe3}) kinds[static_cast<size_t>(lead)] = Kind::perhaps;
  return kinds;
}();

Kind kind_of(char letter) { return kKinds[static_cast<unsigned char>(letter)]; }

// How many bytes the white space at the front takes: of the characters beyond ASCII that are any.
size_t wide_space(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  switch (byte(0)) {
    case 0xc2:  // U+0085, U+00A0
      return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
    case 0xe1:  // U+1680
      return byte(1) == 0x9a && byte(2) == 0x80 ? 3 : 0;
    case 0xe2:  // U+2000 to U+200A, U+2028, U+2029, U+202F; U+205F
      if (byte(1) == 0x81) return byte(2) == 0x9f ? 3 : 0;
      if (byte(1) != 0x80) return 0;
      return (byte(2) >= 0x80 && byte(2) <= 0x8a) || byte(2) == 0xa8 || byte(2) == 0xa9 ||
                     byte(2) == 0xaf
                 ? 3
                 : 0;
    default:  // U+3000
      return byte(1) == 0x80 && byte(2) == 0x80 ? 3 : 0;
  }
}

}  // namespace

void Words::Iterator::step() {
  const char* at = rest_.data();
  const char* const end = at + rest_.size();
  const auto space_at = [&](const char* here) -> size_t {
    const Kind kind = kind_of(*here);
    if (kind == Kind::letter) return 0;
    if (kind == Kind::space) return 1;
    return wide_space({here, static_cast<size_t>(end - here)});
  };
  while (at != end) {
    const size_t space = space_at(at);
    if (space == 0) break;
    at += space;
  }
  const char* const begin = at;
  while (at != end && space_at(at) == 0) ++at;
  word_ = {begin, static_cast<size_t>(at - begin)};
  rest_ = {at, static_cast<size_t>(end - at)};
}

}  // namespace millrace::mapreduce
