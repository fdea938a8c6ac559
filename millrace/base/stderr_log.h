// StderrLog: lines on standard error: time, level, who, message. Several of one process do not
// break each other's lines.
#pragma once

#include <memory>

#include "millrace/base/log.h"

namespace spdlog {
class logger;
}

namespace millrace {

class StderrLog final : public LogSink {
 public:
  // `level` is what MILLRACE_LOG says: trace, debug, info, warning, error, off; null: info.
  explicit StderrLog(const char* level);
  ~StderrLog() override;

  bool takes(LogLevel level) const override;
  void write(LogLevel level, std::string_view who, std::string_view text) override;

 private:
  const std::unique_ptr<spdlog::logger> logger_;
};

// The variable whose value StderrLog takes.
inline constexpr const char* kLogVariable = "MILLRACE_LOG";

}  // namespace millrace
