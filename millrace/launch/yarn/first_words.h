// What YARN says at length, as one line for people. Pure.
#pragma once

#include <string_view>

namespace millrace {

// The first line that says something, without the time before it ("[2026-01-01 00:00:00.000]"), and
// not too long; empty if there is none.
std::string_view first_words(std::string_view said);

}  // namespace millrace
