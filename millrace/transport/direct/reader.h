// Reader: the thread that reads the connections, as a place to go on: what it tells many callers is
// written by itself, together, and it needs no lock that another thread holds.
//
// Elsewhere as long as no connection has come, and after the poller has been closed.
#pragma once

#include <memory>
#include <utility>

#include "millrace/base/runner.h"
#include "millrace/transport/direct/poller.h"

namespace millrace::transport {

class Reader final : public Runner {
 public:
  // `otherwise` lives as long as work is posted.
  Reader(std::shared_ptr<Poller> poller, Runner& otherwise)
      : poller_(std::move(poller)), otherwise_(otherwise) {}
  void post(Task task) override;

 private:
  const std::shared_ptr<Poller> poller_;
  Runner& otherwise_;
};

}  // namespace millrace::transport
