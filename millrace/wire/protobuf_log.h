// ProtobufLog: what libprotobuf has to say (of strings with invalid UTF-8 that peers send, say), in
// the log of a task.
//
// libprotobuf speaks to the whole process, so this is the one thing of the wire that is not passed:
// while one or more exist, its lines go to the log of the one that was made last, at most one in
// ten seconds: it writes one for each bad string that arrives, which would fill the disk. When none
// is left it speaks to standard error again. Any thread.
#pragma once

#include "millrace/base/host.h"
#include "millrace/base/log_limit.h"

namespace millrace::wire {

class ProtobufLog {
 public:
  // `host` outlives this.
  explicit ProtobufLog(const Host& host);
  ~ProtobufLog();
  ProtobufLog(const ProtobufLog&) = delete;
  ProtobufLog& operator=(const ProtobufLog&) = delete;

  // A line of libprotobuf's, and one after which it ends the process.
  void tell(std::string_view text);
  void tell_the_last(std::string_view text) const;

 private:
  const Host host_;
  LogLimit limit_;
};

}  // namespace millrace::wire
