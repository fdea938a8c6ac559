#include "millrace/mapreduce/words_of.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

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

// How many bytes from here on are letters beyond doubt, which is told of eight at a time: those
// that are above the space and of ASCII. Words are of many lengths, and a look at each byte would
// guess wrong at the end of each.
size_t sure_letters(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  constexpr uint64_t kOnes = 0x0101010101010101U, kHighest = 0x80 * kOnes;
  const char* const begin = at;
  for (; end - at >= 8; at += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, at, sizeof eight);
    // What is borrowed for a low byte spoils those above it alone.
    const uint64_t others = ((eight - 0x21 * kOnes) | eight) & kHighest;
    if (others == 0) continue;
    at += std::countr_zero(others) / 8;
    break;
  }
  return static_cast<size_t>(at - begin);
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
  while (at != end) {
    at += sure_letters(at, end);
    if (at == end || space_at(at) != 0) break;
    ++at;
  }
  word_ = {begin, static_cast<size_t>(at - begin)};
  rest_ = {at, static_cast<size_t>(end - at)};
}

}  // namespace millrace::mapreduce
