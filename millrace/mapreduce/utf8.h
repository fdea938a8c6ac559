// Whether text is UTF-8, as Python decodes it: no overlong forms, no surrogates, nothing beyond
// U+10FFFF.
#pragma once

#include <string_view>

namespace millrace::mapreduce {

bool is_utf8(std::string_view text);

}  // namespace millrace::mapreduce
