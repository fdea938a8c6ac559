// Charsets by name: UTF-8, UTF-16, UTF-32, US-ASCII and ISO-8859-1 are always there; all others are
// those that the C library's iconv has on this machine.
//
//   MR_ASSIGN(const Charset charset, Charset::named("shift_jis"));   // once
//   MR_ASSIGN(CharsetReader reader, charset.open());                 // in each thread
//   reader.read(text, [&](const Character& character) { ... });
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/ops/text/code_points.h"

namespace millrace {

// The code point of each byte, of charsets where it has always the same one; -1 for a byte that has
// none.
using CharsetTable = std::array<int32_t, 256>;

// Reads texts one after another. For one thread.
class CharsetReader {
 public:
  // Calls `take` for each character of a whole text. What one text ended in does not touch the
  // next. Of charsets that are iconv's, each byte that can't be read is a broken character by
  // itself, and what is cut off at the end is one; and where a character is held back until it is
  // known that no mark follows (BIG5-HKSCS, JIS X 0213, CP1258 …), the next one's `begin` may be
  // too late.
  void read(std::string_view text, TakeCharacter take);

 private:
  friend class Charset;
  struct CloseIconv {
    void operator()(void* iconv) const;
  };
  using Read = void (*)(std::string_view text, TakeCharacter take);

  void read_by_iconv(std::string_view text, TakeCharacter take);

  // One of these three.
  Read read_ = nullptr;
  std::shared_ptr<const CharsetTable> table_;
  std::unique_ptr<void, CloseIconv> iconv_;
};

// What a name stands for: a value.
class Charset {
 public:
  // Names are those of ICU and of iconv, in any case; - and _ are the same. INVALID_ARGUMENT if
  // there is no such charset here.
  static Result<Charset> named(std::string_view name);

  // INVALID_ARGUMENT if it is gone since, RESOURCE_EXHAUSTED.
  Result<CharsetReader> open() const;

 private:
  // One of these two, or by iconv.
  CharsetReader::Read read_ = nullptr;
  std::shared_ptr<const CharsetTable> table_;
  std::string iconv_name_;
};

}  // namespace millrace
