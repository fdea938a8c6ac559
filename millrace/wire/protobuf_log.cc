#include "millrace/wire/protobuf_log.h"

#include <algorithm>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "millrace/base/mutex.h"

namespace millrace::wire {
namespace {

// Where the process's one handler finds who is to hear it.
struct Listeners {
  Mutex mutex;
  std::vector<ProtobufLog*> all MR_GUARDED_BY(mutex);
  google::protobuf::LogHandler* before MR_GUARDED_BY(mutex) = nullptr;
};

Listeners& listeners() {
  static Listeners instance;
  return instance;
}

void pass_on(google::protobuf::LogLevel level, const char*, int, const std::string& text) {
  MutexLock lock(listeners().mutex);
  if (listeners().all.empty()) return;
  ProtobufLog& last = *listeners().all.back();
  level == google::protobuf::LOGLEVEL_FATAL ? last.tell_the_last(text) : last.tell(text);
}

}  // namespace

ProtobufLog::ProtobufLog(const Host& host)
    : host_(host), limit_(std::chrono::seconds(10), host.clock, host.metrics) {
  MutexLock lock(listeners().mutex);
  if (listeners().all.empty()) listeners().before = google::protobuf::SetLogHandler(pass_on);
  listeners().all.push_back(this);
}

ProtobufLog::~ProtobufLog() {
  MutexLock lock(listeners().mutex);
  auto& all = listeners().all;
  all.erase(std::find(all.begin(), all.end(), this));
  if (all.empty()) google::protobuf::SetLogHandler(listeners().before);
}

void ProtobufLog::tell(std::string_view text) {
  constexpr size_t kMost = 500;
  if (const auto left_out = limit_.next()) {
    host_.log.warning("a message that is not as it should be: ", text.substr(0, kMost),
                      LogLimit::note(*left_out));
  }
}

void ProtobufLog::tell_the_last(std::string_view text) const { host_.log.error(text); }

}  // namespace millrace::wire
