// Logging for the people who run a task. One line: time, level, who, message.
//
//   log_info("listening on ", address);
//
// The level comes from MILLRACE_LOG (trace, debug, info, warning, error, off; default info); lines
// go to standard error. Kernels and passes do not log: they return Status.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace {

enum class LogLevel { trace, debug, info, warning, error };

bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

// While it lives, its name ("worker:1") stands in front of every line of this process; where a
// process has several, all of them do, in the order in which they were made. Any thread.
class LogName {
 public:
  explicit LogName(std::string_view name);
  ~LogName();
  LogName(const LogName&) = delete;
  LogName& operator=(const LogName&) = delete;

 private:
  const std::string name_;
};

template <class... Parts>
void log_at(LogLevel level, const Parts&... parts) {
  if (log_enabled(level)) log_line(level, str_cat(parts...));
}
template <class... Parts>
void log_info(const Parts&... parts) {
  log_at(LogLevel::info, parts...);
}
template <class... Parts>
void log_warning(const Parts&... parts) {
  log_at(LogLevel::warning, parts...);
}
template <class... Parts>
void log_error(const Parts&... parts) {
  log_at(LogLevel::error, parts...);
}

}  // namespace millrace
