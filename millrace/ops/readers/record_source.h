// RecordSource: the records of many files in another order in each epoch: what RecordInput gives.
//
// An epoch's files are shuffled by the seed and its number, several are read by turns, and each
// record is drawn from a buffer that is filled again. All records of an epoch come before the next
// one begins. The same seed gives the same order. Not thread-safe; waits for the disk.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/io/record_reader.h"

namespace millrace {

struct RecordSourceSpec {
  std::string pattern;
  int64_t seed = 301;
  float shift = 0;         // by which part of them the order of files is turned after shuffling
  int64_t buffer = 1;      // records to draw from
  int64_t open_files = 1;  // that are read by turns
  io::Packing packing = io::Packing::none;

  // Errors: INVALID_ARGUMENT for what makes no sense.
  Status check() const;
};

class RecordSource {
 public:
  explicit RecordSource(RecordSourceSpec spec) : spec_(std::move(spec)) {}

  // The next record. Errors: NOT_FOUND if no file is there; INVALID_ARGUMENT if all are empty; what
  // reading says: the file in which it happened is left out for this epoch.
  Result<std::string> next(Files& files);

 private:
  struct Open {
    std::string path;
    std::unique_ptr<io::RecordReader> reader;
  };
  Status begin_epoch(Files& files);
  Status fill(Files& files);

  const RecordSourceSpec spec_;
  int64_t epoch_ = 0;
  std::mt19937_64 draws_;
  std::deque<std::string> paths_;  // of this epoch, not opened yet
  std::deque<Open> open_;          // the first one is read next
  std::vector<std::string> buffer_;
};

}  // namespace millrace
