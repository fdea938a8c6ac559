#include "millrace/base/log.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

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

struct Names {
  Mutex mutex;
  std::vector<std::string> all MR_GUARDED_BY(mutex);
};

Names& names() {
  static Names instance;
  return instance;
}

// "worker:1: ", or "ps:0+worker:0: " where two tasks share the process.
std::string prefix() {
  MutexLock lock(names().mutex);
  std::string text;
  for (const std::string& name : names().all) str_append(&text, text.empty() ? "" : "+", name);
  return text.empty() ? text : text + ": ";
}

}  // namespace

bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }

void log_line(LogLevel level, std::string_view text) {
  logger().log(to_spdlog(level), "{}{}", prefix(), text);
}

LogName::LogName(std::string_view name) : name_(name) {
  MutexLock lock(names().mutex);
  names().all.push_back(name_);
}

LogName::~LogName() {
  MutexLock lock(names().mutex);
  auto& all = names().all;
  all.erase(std::find(all.begin(), all.end(), name_));
}

}  // namespace millrace
