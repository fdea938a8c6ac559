// WorkReader: the records of one piece of work, which is the name of a file mostly. What a kind of
// reader makes of it.
//
// One thread at a time; waits for the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "millrace/base/files.h"
#include "millrace/io/byte_source.h"

namespace millrace {

enum class Found : uint8_t {
  record,
  last_record,  // and the work is done
  end,          // no record; the work is done
};

class WorkReader {
 public:
  virtual ~WorkReader() = default;
  // `key` may be null. Errors: DATA_LOSS and what the disk says; the work goes on where it was.
  virtual Result<Found> next(std::string* key, std::string* value) = 0;
  // Whether what comes behind the error of the last next() is to be trusted.
  virtual bool is_sound() const { return false; }
};

using OpenWork =
    std::function<Result<std::unique_ptr<WorkReader>>(Files& files, const std::string& work)>;

// Lines, without their ends; keys "file:line", from 1. Headers count and are left out.
OpenWork lines_of_work(int64_t skip_header_lines, io::Packing packing = io::Packing::none);

// Records of TensorFlow's files; keys "file:offset".
OpenWork records_of_work(io::Packing packing);

// The bytes of the file; its name is the key.
OpenWork whole_files_of_work();

// The work itself, as key and as value.
OpenWork work_itself();

// Records of one length; keys "file:number", from 0.
struct FixedLengths {
  int64_t header = 0, record = 1, footer = 0;
  int64_t hop = 0;  // from one record to the next; 0: as long as a record
  io::Packing packing = io::Packing::none;
};
OpenWork fixed_records_of_work(const FixedLengths& lengths);

}  // namespace millrace
