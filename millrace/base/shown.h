// shown: a name from outside, as errors tell it: whole, or the beginning of one that is so long
// that nobody would read on, and how long it is.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace {

inline std::string shown(std::string_view name) {
  constexpr size_t kMost = 200;
  if (name.size() <= kMost) return std::string(name);
  size_t end = kMost;
  // Not in the middle of a character: what is sent must be UTF-8 if the name is.
  while (end > kMost - 4 && (name[end] & 0xc0) == 0x80) --end;
  return str_cat(name.substr(0, end), "… (", name.size(), " bytes)");
}

}  // namespace millrace
