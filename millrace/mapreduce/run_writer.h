// RunWriter: writes segments into a new file of runs (run_format.h), one after the other. One
// thread; waits for the disk.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/files.h"
#include "millrace/mapreduce/run_format.h"

namespace millrace::mapreduce {

class RunWriter {
 public:
  // Errors of all: those of the disk.
  static Result<RunWriter> create(Files& files, std::string path);

  // Adds to the segment at hand; keys must not descend. Errors: INVALID_ARGUMENT for a pair that is
  // longer than kLongestEntry.
  Status add(std::string_view key, std::string_view value);
  // Ends the segment at hand; the next pair begins another one.
  Result<Segment> end_segment();
  // Ends the file. Nothing may be called afterwards.
  Status close();

 private:
  RunWriter(std::string path, std::unique_ptr<WritableFile> file);
  Status flush();

  std::string path_;
  std::unique_ptr<WritableFile> file_;
  std::string block_;   // with room for its head
  uint64_t end_ = 0;    // of what is in the file
  uint64_t begin_ = 0;  // of the segment at hand
};

}  // namespace millrace::mapreduce
