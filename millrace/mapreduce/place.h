// Place: where a record is from; and what is counted by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace::mapreduce {

using Counters = std::map<std::string, int64_t, std::less<>>;

// A file, and the byte at which the record begins there, or the record's number. Valid as long as
// the record.
struct Place {
  std::string_view path;
  uint64_t position = 0;

  std::string to_string() const { return str_cat(path, " at ", position); }
};

}  // namespace millrace::mapreduce
