// RunReader: the pairs of a segment (run_format.h), one after the other; a block of it in memory.
//
// Nothing is believed: a size is held against what is left of the segment, which is held against
// the file, before memory is asked for; a block against its checksum; a pair against its block; a
// key against the one before. One thread; waits for the disk.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/files.h"
#include "millrace/mapreduce/run_format.h"

namespace millrace::mapreduce {

class RunReader {
 public:
  // Errors: those of opening; DATA_LOSS if the file is none of runs, or too short.
  static Result<RunReader> open(Files& files, const Segment& segment);

  // Goes to the next pair, the first one to begin with; false at the end.
  // Errors: DATA_LOSS with the file and the byte if it is not what was written; those of the disk.
  Result<bool> next();
  // Of the pair at hand; valid until next().
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  RunReader(std::string path, std::unique_ptr<ReadableFile> file, uint64_t begin, uint64_t end);
  Status read_block();
  Status lost(std::string_view what) const;

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  uint64_t at_, end_;  // in the file: the next block, and the segment's end
  uint64_t block_at_ = 0;
  std::string block_, next_head_;
  std::string last_key_;   // of the block before, at its end
  std::string_view left_;  // of the block's entries
  std::string_view key_, value_;
};

}  // namespace millrace::mapreduce
