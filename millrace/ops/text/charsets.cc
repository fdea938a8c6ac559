#include "millrace/ops/text/charsets.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace millrace {
namespace {

// The largest byte that is a character by itself: all are, or those of ASCII.
template <uint8_t last>
void read_bytes(std::string_view text, TakeCharacter take) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte > last) {
      take({.begin = at, .is_broken = true});
    } else {
      take({.code_point = byte, .begin = at});
    }
  }
}

template <void (*read)(std::string_view, ByteOrder, TakeCharacter), ByteOrder order>
void read_ordered(std::string_view text, TakeCharacter take) {
  read(text, order, take);
}

using ReadText = void (*)(std::string_view text, TakeCharacter take);

// Those that need no tables, by the letters and digits of their names.
constexpr std::pair<std::string_view, ReadText> kOwn[] = {
    {"utf8", read_utf8},
    {"utf16", read_ordered<read_utf16, ByteOrder::marked>},
    {"utf16be", read_ordered<read_utf16, ByteOrder::big>},
    {"utf16le", read_ordered<read_utf16, ByteOrder::little>},
    {"utf32", read_ordered<read_utf32, ByteOrder::marked>},
    {"utf32be", read_ordered<read_utf32, ByteOrder::big>},
    {"utf32le", read_ordered<read_utf32, ByteOrder::little>},
    {"ucs2", read_ordered<read_utf16, ByteOrder::marked>},
    {"unicode", read_ordered<read_utf16, ByteOrder::marked>},
    {"iso10646ucs2", read_ordered<read_utf16, ByteOrder::marked>},
    {"ucs4", read_ordered<read_utf32, ByteOrder::marked>},
    {"iso10646ucs4", read_ordered<read_utf32, ByteOrder::marked>},
    {"usascii", read_bytes<0x7f>},
    {"ascii", read_bytes<0x7f>},
    {"csascii", read_bytes<0x7f>},
    {"iso646us", read_bytes<0x7f>},
    {"iso88591", read_bytes<0xff>},
    {"latin1", read_bytes<0xff>},
    {"isolatin1", read_bytes<0xff>},
    {"l1", read_bytes<0xff>},
    {"cp819", read_bytes<0xff>},
    {"ibm819", read_bytes<0xff>},
};

// Names under which iconv has another charset than ICU; Shift JIS there has no backslash.
constexpr std::pair<std::string_view, const char*> kRenamed[] = {
    {"shiftjis", "CP932"},   {"sjis", "CP932"},   {"xsjis", "CP932"},    {"mskanji", "CP932"},
    {"csshiftjis", "CP932"}, {"tis620", "CP874"}, {"ksc5601", "UHC"},    {"windows949", "UHC"},
    {"windows31j", "CP932"}, {"ms932", "CP932"},  {"windows936", "GBK"},
};

// What iconv takes for its own memory, and not for texts.
constexpr std::string_view kInside[] = {"internal", "wchart"};

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)))
      letters.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// A slash begins what iconv shall do with errors, and an empty name is the locale's charset.
bool may_be_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("-_.:+()").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Spellings of one name, of which iconv may know one.
std::vector<std::string> spellings(std::string_view name, const std::string& letters) {
  for (const auto& renamed : kRenamed) {
    if (renamed.first == letters) return {renamed.second};
  }
  std::vector<std::string> all = {std::string(name), std::string(name), std::string(name), letters};
  std::ranges::replace(all[1], '_', '-');
  std::ranges::replace(all[2], '-', '_');
  if (letters.starts_with("ibm") && letters.size() < 6)
    all.push_back("ibm" + std::string(6 - letters.size(), '0') + letters.substr(3));
  if (letters.starts_with("windows")) all.push_back("cp" + letters.substr(7));
  return all;
}

// Code points as the machine's own 32-bit numbers, in one step from any charset.
iconv_t open_iconv(const std::string& name) { return iconv_open("WCHAR_T", name.c_str()); }

bool is_open(iconv_t iconv) { return reinterpret_cast<intptr_t>(iconv) != -1; }

Status no_charset(std::string_view name) {
  return invalid("Could not create converter for input encoding: ", name,
                 "; UTF-8, UTF-16, UTF-32, US-ASCII and ISO-8859-1 are always there, and what "
                 "`iconv -l` lists on the machine that runs this");
}

// What iconv makes of one byte alone, from its first state.
enum class OfByte { character, none, part };

OfByte read_byte(iconv_t iconv_to, uint8_t byte, int32_t& code_point) {
  iconv(iconv_to, nullptr, nullptr, nullptr, nullptr);
  char text = static_cast<char>(byte);
  char* at = &text;
  size_t left = 1;
  uint32_t made = 0;
  auto* to = reinterpret_cast<char*>(&made);
  size_t room = sizeof made;
  const bool has_failed = iconv(iconv_to, &at, &left, &to, &room) == static_cast<size_t>(-1);
  if (has_failed) return errno == EILSEQ ? OfByte::none : OfByte::part;
  if (room != 0 || !is_character(made)) return OfByte::part;
  code_point = static_cast<int32_t>(made);
  return OfByte::character;
}

// Null if a byte may be a part of a character, or change what others are.
std::shared_ptr<const CharsetTable> table_of(iconv_t iconv_to, bool keeps_controls) {
  CharsetTable table = {};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    switch (read_byte(iconv_to, static_cast<uint8_t>(byte), table[byte])) {
      case OfByte::character:
        break;
      case OfByte::none: {
        const bool is_control = byte >= 0x80 && byte <= 0x9f;
        table[byte] = keeps_controls && is_control ? static_cast<int32_t>(byte) : -1;
        break;
      }
      case OfByte::part:
        return nullptr;
    }
  }
  return std::make_shared<const CharsetTable>(table);
}

void read_by_table(std::string_view text, const CharsetTable& table, TakeCharacter take) {
  for (size_t at = 0; at < text.size(); ++at) {
    const int32_t code_point = table[static_cast<uint8_t>(text[at])];
    if (code_point < 0) {
      take({.begin = at, .is_broken = true});
    } else {
      take({.code_point = code_point, .begin = at});
    }
  }
}

}  // namespace

void CharsetReader::CloseIconv::operator()(void* iconv) const { iconv_close(iconv); }

void CharsetReader::read(std::string_view text, TakeCharacter take) {
  if (read_ != nullptr) {
    read_(text, take);
  } else if (table_ != nullptr) {
    read_by_table(text, *table_, take);
  } else {
    read_by_iconv(text, take);
  }
}

void CharsetReader::read_by_iconv(std::string_view text, TakeCharacter take) {
  iconv_t iconv_to = iconv_.get();
  iconv(iconv_to, nullptr, nullptr, nullptr, nullptr);
  auto* at = const_cast<char*>(text.data());
  size_t left = text.size();
  size_t begin = 0;   // of the character that comes next
  int held_back = 0;  // rounds since a byte was read
  constexpr int kMostHeldBack = 8;
  const auto take_made = [&](uint32_t made) {
    const bool is_broken = !is_character(made);
    take({.code_point = is_broken ? kReplacement : static_cast<int32_t>(made),
          .begin = begin,
          .is_broken = is_broken});
    begin = std::min(text.size() - left, text.size() - 1);
  };
  while (left > 0) {
    // There is room for one, so that it is known which bytes it comes from.
    uint32_t made = 0;
    auto* to = reinterpret_cast<char*>(&made);
    size_t room = sizeof made;
    const size_t before = left;
    const bool has_failed = iconv(iconv_to, &at, &left, &to, &room) == static_cast<size_t>(-1);
    const int why = has_failed ? errno : 0;
    if (room == 0) take_made(made);
    // One byte may be several characters, but not endlessly many.
    held_back = left < before ? 0 : held_back + 1;
    if (why == 0 || (why == E2BIG && held_back < kMostHeldBack)) continue;
    // Some say at the end that what was held back before is wrong.
    begin = std::min(text.size() - left, text.size() - 1);
    if (why == EINVAL || left == 0) {
      take({.begin = begin, .is_broken = true});
      return;
    }
    take({.begin = begin, .is_broken = true});
    ++at;
    --left;
    begin = std::min(text.size() - left, text.size() - 1);
  }
  // One may be held back that a mark behind it would have changed.
  uint32_t made = 0;
  auto* to = reinterpret_cast<char*>(&made);
  size_t room = sizeof made;
  iconv(iconv_to, nullptr, nullptr, &to, &room);
  if (room == 0) take_made(made);
}

Result<Charset> Charset::named(std::string_view name) {
  Charset charset;
  const std::string letters = letters_of(name);
  for (const auto& own : kOwn) {
    if (own.first != letters) continue;
    charset.read_ = own.second;
    return charset;
  }
  if (!may_be_name(name) || std::ranges::find(kInside, letters) != std::end(kInside))
    return no_charset(name);
  for (const std::string& spelling : spellings(name, letters)) {
    iconv_t iconv = open_iconv(spelling);
    if (!is_open(iconv)) continue;
    // Bytes 80 to 9f that a charset of Windows leaves free are controls, as ICU has it.
    const bool is_windows = letters.starts_with("windows125") || letters.starts_with("cp125");
    charset.table_ = table_of(iconv, is_windows);
    iconv_close(iconv);
    charset.iconv_name_ = spelling;
    return charset;
  }
  return no_charset(name);
}

Result<CharsetReader> Charset::open() const {
  CharsetReader reader;
  reader.read_ = read_;
  reader.table_ = table_;
  if (read_ != nullptr || table_ != nullptr) return reader;
  iconv_t iconv = open_iconv(iconv_name_);
  if (!is_open(iconv)) {
    if (errno == EINVAL) return no_charset(iconv_name_);
    return error(Code::resource_exhausted, "no memory or files to read ", iconv_name_, " with");
  }
  reader.iconv_.reset(iconv);
  return reader;
}

}  // namespace millrace
