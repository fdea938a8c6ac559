// What one task tells about itself (cluster/task_record.h), as its launcher keeps it: fed with the
// bytes of the pipe that the task writes to. Pure; bounded memory.
//
// A program that keeps no record is a foreign one: what it waits for and how it ended is then read
// from its lines (peer_lines.h, error_lines.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cluster/task_record.h"
#include "millrace/launch/line_splitter.h"

namespace millrace {

class TaskRecords {
 public:
  void feed(std::string_view bytes);

  // True from the first record on.
  bool are_kept() const { return are_kept_; }
  // The tasks ("map:7") of the last wait that was told since the last call, if any.
  std::optional<std::vector<std::string>> take_waits() {
    return std::exchange(waits_, std::nullopt);
  }
  // How it said that it ends. Where several programs of one task say so, the last one.
  const std::optional<TaskEnds>& end() const { return end_; }

 private:
  void note(std::string_view line);

  LineSplitter splitter_;
  bool are_kept_ = false;
  std::optional<std::vector<std::string>> waits_;
  std::optional<TaskEnds> end_;
};

}  // namespace millrace
