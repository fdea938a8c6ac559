// What a job writes: one file per partition, in a folder that appears when all of them are
// complete; or elements of a queue.
//
//   .output = "counts"                                                     // key, tab, value
//   .output = mapreduce::text_output("sorted", [](std::string* line, std::string_view key,
//                                                std::string_view value) { ... })
//
// A value; used by several threads at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/mapreduce/result_queue.h"

namespace millrace::mapreduce {

class Output {
 public:
  Output() = default;
  // NOLINTBEGIN(google-explicit-constructor): a path stands for a folder of text.
  Output(const char* folder) : Output(std::string(folder == nullptr ? "" : folder)) {}
  Output(std::string folder);
  // NOLINTEND(google-explicit-constructor)
  Output(std::string folder, std::string suffix, Written record);
  Output(std::string folder, ResultQueue queue);

  // An absolute path; empty if there is no output.
  const std::string& folder() const { return folder_; }
  // Of the files' names.
  const std::string& suffix() const { return suffix_; }
  // Where results go in place of files; none: nowhere.
  const std::optional<ResultQueue>& queue() const { return queue_; }
  // Appends a pair, with what stands around it in the file.
  void append(std::string* text, std::string_view key, std::string_view value) const {
    record_(text, key, value);
  }

 private:
  std::string folder_, suffix_;
  Written record_;
  std::optional<ResultQueue> queue_;
};

// Files of lines, one for each pair that the reducers give. `folder` is a path that all tasks see;
// it must not exist, or be empty. `line` appends a line without its end; by default key, tab,
// value.
Output text_output(std::string folder, Written line = nullptr);

// TFRecord files, one record for each pair. `record` appends its bytes; by default the value.
Output record_output(std::string folder, Written record = nullptr);

// Elements of a queue (result_queue.h), one for each pair. `folder` appears in the end as well,
// with the counters and the bad records.
Output queue_output(std::string folder, ResultQueue queue);

}  // namespace millrace::mapreduce
