// Log: where lines go for the people who run a task. Passed, never reached for: each task of a
// process has its own, and its name stands in front of every line.
//
//   host.log.info("listens on ", address);   // "worker:1: listens on 10.0.0.3:2222"
//
// Kernels and passes do not log: they return Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

enum class LogLevel : uint8_t { trace, debug, info, warning, error };

// Where lines end up: standard error (stderr_log.h), or a test's list. Thread-safe.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Whether lines of this level are written at all.
  virtual bool takes(LogLevel level) const = 0;
  // A line of any level, without its end. `who`: the task's name, empty for what is no task.
  virtual void write(LogLevel level, std::string_view who, std::string_view text) = 0;
};

// A name and a sink. Thread-safe; the sink outlives it.
class Log {
 public:
  explicit Log(LogSink& sink, std::string who = {}) : sink_(&sink), who_(std::move(who)) {}
  // The same sink, in the name of `who`.
  Log named(std::string who) const { return Log(*sink_, std::move(who)); }

  bool takes(LogLevel level) const { return sink_->takes(level); }
  void line(LogLevel level, std::string_view text) const { sink_->write(level, who_, text); }

  template <class... Parts>
  void at(LogLevel level, const Parts&... parts) const {
    if (takes(level)) line(level, str_cat(parts...));
  }
  template <class... Parts>
  void debug(const Parts&... parts) const {
    at(LogLevel::debug, parts...);
  }
  template <class... Parts>
  void info(const Parts&... parts) const {
    at(LogLevel::info, parts...);
  }
  template <class... Parts>
  void warning(const Parts&... parts) const {
    at(LogLevel::warning, parts...);
  }
  template <class... Parts>
  void error(const Parts&... parts) const {
    at(LogLevel::error, parts...);
  }

 private:
  LogSink* sink_;
  std::string who_;
};

}  // namespace millrace
