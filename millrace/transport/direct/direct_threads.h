// DirectThreads: the poller of a process, and the threads that read it (threads/event_threads.h).
//
// One per process is enough. It outlives servers; lines that live longer end. Threads start with
// the first connection.
#pragma once

#include <memory>

#include "millrace/transport/direct/poller.h"
#include "millrace/transport/direct/received_bytes.h"
#include "millrace/transport/direct/shared_lines.h"
#include "millrace/transport/threads/event_threads.h"

namespace millrace::transport {

class DirectThreads {
 public:
  DirectThreads()
      : intake_(std::make_shared<Intake>(Intake::beside_grpc(receive_limits()))),
        poller_(std::make_shared<Poller>([this] { return threads_.begin(); })),
        lines_(std::make_shared<SharedLines>(poller_, intake_)),
        threads_(*poller_, {.name = "direct"}) {}
  // Ends all connections, and waits for the calls that run. Not on one of the threads.
  ~DirectThreads() {
    poller_->close();
    threads_.finish();
  }
  DirectThreads(const DirectThreads&) = delete;
  DirectThreads& operator=(const DirectThreads&) = delete;

  const std::shared_ptr<Poller>& poller() const { return poller_; }
  const std::shared_ptr<Intake>& intake() const { return intake_; }
  const std::shared_ptr<SharedLines>& lines() const { return lines_; }

 private:
  const std::shared_ptr<Intake> intake_;
  const std::shared_ptr<Poller> poller_;
  const std::shared_ptr<SharedLines> lines_;
  EventThreads threads_;
};

}  // namespace millrace::transport
