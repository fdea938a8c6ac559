// A status as transcripts write it: "OK", "NOT_FOUND no file", "~ABORTED why" for a consequence.
#pragma once

#include <istream>
#include <string>

#include <doctest/doctest.h>

#include "millrace/base/status.h"

namespace millrace::testing {

// The rest of the line.
inline Status spoken_status(std::istream& words) {
  std::string name, text;
  words >> name;
  std::getline(words >> std::ws, text);
  const bool is_consequence = name.starts_with("~");
  if (is_consequence) name.erase(0, 1);
  for (int code = 0; code <= 16; ++code) {
    if (code_name(static_cast<Code>(code)) != name) continue;
    const Status status(static_cast<Code>(code), text);
    return is_consequence ? status.as_consequence() : status;
  }
  FAIL("no such code: " << name);
  return {};
}

}  // namespace millrace::testing
