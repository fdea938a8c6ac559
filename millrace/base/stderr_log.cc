#include "millrace/base/stderr_log.h"

#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

StderrLog::StderrLog(const char* level)
    : logger_(std::make_unique<spdlog::logger>("millrace",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_pattern("%H:%M:%S.%e %L %v");
  logger_->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::info);
  logger_->flush_on(spdlog::level::trace);
}

StderrLog::~StderrLog() = default;

bool StderrLog::takes(LogLevel level) const { return logger_->should_log(to_spdlog(level)); }

void StderrLog::write(LogLevel level, std::string_view who, std::string_view text) {
  // Past the logger, which would leave out what is below its level.
  const std::string whole = str_cat(who, who.empty() ? "" : ": ", text);
  const spdlog::details::log_msg line(logger_->name(), to_spdlog(level), whole);
  for (const auto& sink : logger_->sinks()) {
    sink->log(line);
    sink->flush();
  }
}

}  // namespace millrace
