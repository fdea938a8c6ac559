#include "millrace/ops/text/code_points.h"

#include <algorithm>

namespace millrace {
namespace {

bool is_half(int64_t code_point) { return code_point >= 0xd800 && code_point <= 0xdfff; }
bool is_first_half(uint32_t unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool is_second_half(uint32_t unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

// What a first byte of UTF-8 asks of those that follow; `count` 0 if it is no first byte.
struct Lead {
  size_t count = 0;
  uint8_t low = 0x80, high = 0xbf;  // of the second byte
};

Lead lead_of(uint8_t byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {.count = 1};
  // Neither in more bytes than need be, nor half of a pair, nor beyond the last.
  if (byte == 0xe0) return {.count = 2, .low = 0xa0};
  if (byte == 0xed) return {.count = 2, .high = 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {.count = 2};
  if (byte == 0xf0) return {.count = 3, .low = 0x90};
  if (byte == 0xf4) return {.count = 3, .high = 0x8f};
  if (byte >= 0xf1 && byte <= 0xf3) return {.count = 3};
  return {};
}

// Big or little, and where the text begins behind a mark.
struct Begun {
  bool is_little = false;
  size_t at = 0;
};

Begun begun(std::string_view text, ByteOrder order, std::string_view big_mark,
            std::string_view little_mark) {
  if (order != ByteOrder::marked) return {.is_little = order == ByteOrder::little};
  if (text.starts_with(big_mark)) return {.at = big_mark.size()};
  if (text.starts_with(little_mark)) return {.is_little = true, .at = little_mark.size()};
  return {};
}

uint32_t unit_at(std::string_view text, size_t at, size_t size, bool is_little) {
  uint32_t unit = 0;
  for (size_t i = 0; i < size; ++i)
    unit = unit << 8 | static_cast<uint8_t>(text[at + (is_little ? size - 1 - i : i)]);
  return unit;
}

void append_unit(uint32_t unit, size_t size, std::string& text) {
  for (size_t i = size; i-- > 0;) text.push_back(static_cast<char>(unit >> 8 * i & 0xff));
}

// A mark that marks nothing gives TensorFlow this one code point, and so it does here.
constexpr int32_t kOnlyMark = 0xffff;

}  // namespace

bool is_character(int64_t code_point) {
  return code_point >= 0 && code_point <= kLastCodePoint && !is_half(code_point);
}

void read_utf8(std::string_view text, TakeCharacter take) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const auto first = static_cast<uint8_t>(text[at++]);
    if (first < 0x80) {
      take({.code_point = first, .begin = begin});
      continue;
    }
    const Lead lead = lead_of(first);
    // Of a first byte what is left when its marks are taken away.
    uint32_t code_point = first & (0x3fu >> lead.count);
    size_t count = 0;
    for (; count < lead.count && at < text.size(); ++count, ++at) {
      const auto byte = static_cast<uint8_t>(text[at]);
      const bool is_second = count == 0;
      if (byte < (is_second ? lead.low : 0x80) || byte > (is_second ? lead.high : 0xbf)) break;
      code_point = code_point << 6 | (byte & 0x3fu);
    }
    if (lead.count == 0 || count < lead.count) {
      take({.begin = begin, .is_broken = true});
    } else {
      take({.code_point = static_cast<int32_t>(code_point), .begin = begin});
    }
  }
}

void read_utf16(std::string_view text, ByteOrder order, TakeCharacter take) {
  const Begun start = begun(text, order, "\xfe\xff", "\xff\xfe");
  if (start.at != 0 && start.at == text.size()) take({.code_point = kOnlyMark});
  for (size_t at = start.at; at < text.size();) {
    // The mark belongs to the first character.
    const size_t begin = at == start.at ? 0 : at;
    const size_t left = text.size() - at;
    const uint32_t unit = left < 2 ? 0 : unit_at(text, at, 2, start.is_little);
    if (left < 2 || (is_first_half(unit) && left < 4)) {
      take({.begin = begin, .is_broken = true});
      return;
    }
    at += 2;
    if (!is_half(unit)) {
      take({.code_point = static_cast<int32_t>(unit), .begin = begin});
      continue;
    }
    const uint32_t next = is_first_half(unit) ? unit_at(text, at, 2, start.is_little) : 0;
    if (!is_second_half(next)) {
      take({.begin = begin, .is_broken = true});
      continue;
    }
    at += 2;
    take({.code_point = static_cast<int32_t>(0x10000 + ((unit & 0x3ff) << 10 | (next & 0x3ff))),
          .begin = begin});
  }
}

void read_utf32(std::string_view text, ByteOrder order, TakeCharacter take) {
  using namespace std::string_view_literals;
  const Begun start = begun(text, order, "\0\0\xfe\xff"sv, "\xff\xfe\0\0"sv);
  if (start.at != 0 && start.at == text.size()) take({.code_point = kOnlyMark});
  for (size_t at = start.at; at < text.size(); at += 4) {
    const size_t begin = at == start.at ? 0 : at;
    if (text.size() - at < 4) {
      take({.begin = begin, .is_broken = true});
      return;
    }
    const uint32_t unit = unit_at(text, at, 4, start.is_little);
    if (is_character(unit)) {
      take({.code_point = static_cast<int32_t>(unit), .begin = begin});
    } else {
      take({.begin = begin, .is_broken = true});
    }
  }
}

void append_character(Utf form, int32_t code_point, std::string& text) {
  const auto value = static_cast<uint32_t>(code_point);
  if (form == Utf::utf32_be) {
    append_unit(value, 4, text);
  } else if (form == Utf::utf16_be) {
    if (value < 0x10000) {
      append_unit(value, 2, text);
    } else {
      append_unit(0xd800 + ((value - 0x10000) >> 10), 2, text);
      append_unit(0xdc00 + (value & 0x3ff), 2, text);
    }
  } else if (value < 0x80) {
    text.push_back(static_cast<char>(value));
  } else {
    const uint32_t kept = is_half(value) ? uint32_t{kReplacement} : value;
    const size_t more = kept < 0x800 ? 1 : kept < 0x10000 ? 2 : 3;
    // As many ones as there are bytes, and a zero.
    text.push_back(static_cast<char>((0xffu << (7 - more) & 0xff) | kept >> 6 * more));
    for (size_t i = more; i-- > 0;)
      text.push_back(static_cast<char>(0x80 | (kept >> 6 * i & 0x3f)));
  }
}

}  // namespace millrace
