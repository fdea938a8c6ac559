// Remembers, of all lines that a task wrote, the few that tell why it failed. Pure; bounded memory.
//
// A line looks like an error if it has one of the marks that programs use: "Error", "FATAL",
// "Exception", "terminate called", a status code such as UNAVAILABLE. If no line does, the last
// that went to standard error has to do. A line that ends with the name of a task ("… From
// /job:files/replica:0/task:0:") only says who failed; what failed is on the next one, which joins
// it. What a runtime logs for information is passed over.
//
// For programs that keep no record of themselves (cluster/task_record.h).
#pragma once

#include <string>
#include <string_view>

namespace millrace {

enum class Stream { out, err };

class ErrorLines {
 public:
  static constexpr size_t kLongest = 300;  // bytes kept of a line

  void note(Stream stream, std::string_view line);

  // Empty if there was none.
  const std::string& first() const { return first_; }
  const std::string& last() const { return last_.empty() ? last_on_err_ : last_; }
  // True if last() is an error and nothing but its indented notes has followed: last words.
  bool ends_with_error() const { return !last_.empty() && !followed_; }

 private:
  std::string first_;
  std::string last_;
  std::string last_on_err_;
  bool last_goes_on_ = false;
  bool followed_ = false;
};

}  // namespace millrace
