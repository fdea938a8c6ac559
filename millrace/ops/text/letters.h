// Letters of all alphabets, by libunistring: in upper and lower case, and the scripts they are of.
// No locale is asked. What it knows is Unicode 14.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// UTF-8 in the other case, by all rules of Unicode that hold in every language: ß is SS in upper
// case, and a sigma that ends a word its own letter in lower case. What is broken becomes U+FFFD.
// RESOURCE_EXHAUSTED if there is no memory.
Result<std::string> upper_case(std::string_view text);
Result<std::string> lower_case(std::string_view text);

// The number that ICU's UScriptCode has for the script of a code point: 25 is Latin, 0 what is
// common to all, 103 what is of none that is known, -1 what is no code point.
int32_t script_of(int32_t code_point);

}  // namespace millrace
