// SharedLines: the lines of a process for calls that nobody waits for, one to each address, whoever
// calls: fifty sessions with one server write what they ask for together, and read what it answers
// together. Any thread may call.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/mutex.h"
#include "millrace/transport/direct/line.h"
#include "millrace/transport/direct/numeric_address.h"

namespace millrace::transport {

class SharedLines {
 public:
  SharedLines(std::shared_ptr<Poller> poller, std::shared_ptr<Intake> intake)
      : poller_(std::move(poller)), intake_(std::move(intake)) {}

  // The line to `address`: the one that others hold, unless it has ended, or one that begins to
  // connect. It is retired when nobody holds it any more. Null if the system refuses.
  std::shared_ptr<Line> to(const NumericAddress& address);

 private:
  const std::shared_ptr<Poller> poller_;
  const std::shared_ptr<Intake> intake_;
  Mutex mutex_;
  // By address, as long as somebody holds them, or until somebody asks for another.
  absl::flat_hash_map<std::string, std::weak_ptr<Line>> held_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
