// Place: where a record is from; and what is counted by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace::mapreduce {

using Counters = std::map<std::string, int64_t, std::less<>>;

// Adds to a counter, modulo 2^64: a counter is no reason for a job to fail.
inline void add_count(Counters* counters, std::string_view name, int64_t by) {
  auto found = counters->find(name);
  if (found == counters->end()) found = counters->emplace(name, 0).first;
  found->second =
      static_cast<int64_t>(static_cast<uint64_t>(found->second) + static_cast<uint64_t>(by));
}

// A file, and the byte at which the record begins there, or the record's number. Valid as long as
// the record.
struct Place {
  std::string_view path;
  uint64_t position = 0;

  std::string to_string() const { return str_cat(path, " at ", position); }
};

}  // namespace millrace::mapreduce
