// A record or key for people: the beginning of a long one, in quotes, on one line.
#pragma once

#include <string>
#include <string_view>

namespace millrace::mapreduce {

std::string in_quotes(std::string_view text);

}  // namespace millrace::mapreduce
