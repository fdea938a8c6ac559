#include "millrace/base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

#include "millrace/base/mutex.h"

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

// The process's one logger: lines of all rooms share one stream.
spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("millrace",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%H:%M:%S.%e %L %v");
    const char* level = std::getenv("MILLRACE_LOG");
    made->set_level(level ? spdlog::level::from_str(level) : spdlog::level::info);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

struct Name {
  Mutex mutex;
  std::string text MR_GUARDED_BY(mutex);
};

Name& name() {
  static Name instance;
  return instance;
}

}  // namespace

bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view text) {
  std::string prefix;
  {
    MutexLock lock(name().mutex);
    prefix = name().text;
  }
  logger().log(to_spdlog(level), "{}{}", prefix, text);
}

void set_log_name(std::string_view text) {
  MutexLock lock(name().mutex);
  name().text = text.empty() ? std::string() : str_cat(text, ": ");
}

}  // namespace millrace
