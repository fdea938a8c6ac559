// Attempt: one attempt at a piece of work: what it counts, and the records that it puts aside. One
// thread; waits for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/files.h"
#include "millrace/mapreduce/place.h"

namespace millrace::mapreduce {

class Attempt {
 public:
  // Up to `max_bad` records are put aside into the file `aside`, which is made with the first.
  Attempt(Files& files, int64_t max_bad, std::string aside)
      : files_(files), max_bad_(max_bad), aside_(std::move(aside)) {}

  // Adds to what is counted.
  void count(std::string_view name, int64_t by) { add_count(&counters_, name, by); }
  void count(const Counters& counted) {
    for (const auto& [name, by] : counted) count(name, by);
  }
  // Puts a record aside; none for a file that can't be read. Errors: INVALID_ARGUMENT if these are
  // more than `max_bad` now; those of the disk.
  Status reject(const Place& place, std::optional<std::string_view> record, const Status& why);
  // Ends the file. Errors: those of the disk.
  Status close();

  const Counters& counters() const { return counters_; }
  int64_t num_bad() const { return num_bad_; }
  // Empty if there are none.
  std::string aside() const { return num_bad_ == 0 ? std::string() : aside_; }

 private:
  Files& files_;
  const int64_t max_bad_;
  const std::string aside_;
  std::unique_ptr<WritableFile> file_;
  Counters counters_;
  int64_t num_bad_ = 0;
};

// What is said of a bad record.
std::string said_of(const Place& place, std::optional<std::string_view> record, const Status& why);
// A line of JSON about it, with its end.
std::string rejected_line(const Place& place, std::optional<std::string_view> record,
                          const Status& why);

}  // namespace millrace::mapreduce
