// LineWindow: the lines of a range of a text file, as they lie in a window of memory that moves
// along it. Belongs to one thread; waits for the disk.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"

namespace millrace::mapreduce {

struct Line {
  uint64_t position = 0;  // of its first byte in the file
  std::string_view text;  // without its end; of one that is too long, the first bytes
  uint64_t size = 0;      // bytes of the text, also if it is too long
  bool is_too_long = false;
};

class LineWindow {
 public:
  // Lines that begin in [begin, end). `longest`: more bytes of one are not held. `window` bytes are
  // read at a time.
  LineWindow(const ReadableFile& file, uint64_t begin, uint64_t end, uint64_t longest,
             size_t window = size_t{1} << 20);

  // The next line, valid until the call after. False at the end of the range or of the file.
  // Errors: those of the disk.
  Result<bool> next(Line* line);
  // Where what was not given yet begins.
  uint64_t position() const { return offset_ + at_; }

 private:
  // Moves to the first line of the range: one that began before it is the business of others.
  Status find_first();
  // Where the next line end is, counted from at_; kNone if it is not in the window.
  size_t end_of_line() const;
  // Reads more behind what is there. False at the end of the file.
  Result<bool> read_more();
  // Goes behind the end of the line at hand, or to `until` or more in its midst; how many bytes of
  // it that are. What of it is held is forgotten.
  Result<uint64_t> skip_line(uint64_t until);

  const ReadableFile& file_;
  const uint64_t begin_, end_, longest_;
  const size_t step_;
  std::vector<char> held_;
  std::vector<char> front_;  // of the last line that was too long
  size_t size_ = 0;          // of held_, what was read
  size_t at_ = 0;            // of that, what was given
  size_t scanned_ = 0;       // of that, where no end of the line at hand is
  uint64_t offset_ = 0;      // of held_ in the file
  bool is_begun_ = false, is_at_end_ = false;
};

}  // namespace millrace::mapreduce
