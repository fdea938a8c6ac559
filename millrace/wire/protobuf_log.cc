#include "millrace/wire/protobuf_log.h"

#include <string>

#include <google/protobuf/stubs/logging.h>

#include "millrace/base/log.h"
#include "millrace/base/log_limit.h"

namespace millrace::wire {
namespace {

void pass_on(google::protobuf::LogLevel level, const char*, int, const std::string& text) {
  static LogLimit limit(std::chrono::seconds(10));
  constexpr size_t kMost = 500;
  const auto left_out = limit.next();
  if (!left_out && level != google::protobuf::LOGLEVEL_FATAL) return;
  log_warning("a message that is not as it should be: ", text.substr(0, kMost),
              LogLimit::note(left_out.value_or(0)));
}

}  // namespace

void take_protobuf_log() { google::protobuf::SetLogHandler(pass_on); }

}  // namespace millrace::wire
