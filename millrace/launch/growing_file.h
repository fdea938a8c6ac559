// A file that somebody else writes, line by line as it grows. It is opened anew for every look:
// network file systems show only then what other machines have written. Need not be there yet.
// Single-threaded.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/line_splitter.h"

namespace millrace {

class GrowingFile {
 public:
  explicit GrowingFile(std::string path) : path_(std::move(path)) {}

  // Passes on the lines that have come since the last call, a bounded part of them: true if there
  // may be more already. `is_last`: nothing comes any more, so a last line may lack its end.
  // Errors: NOT_FOUND if there is no such file; UNAVAILABLE with what the system says.
  Result<bool> read(bool is_last, const LineSplitter::Sink& sink);

 private:
  const std::string path_;
  int64_t position_ = 0;
  LineSplitter lines_;
};

}  // namespace millrace
