// ServedLine: a connection on which a peer makes calls to us. What it asks for is handled by the
// methods that a task serves; a call that waits holds no thread.
//
// A peer that is silent for long while it waits for answers is asked whether it is there, and hung
// up on if it says nothing: what it waits for may be taken by others then.
#pragma once

#include <atomic>
#include <memory>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/host.h"
#include "millrace/transport/direct/connection.h"
#include "millrace/transport/protocol/received_call.h"
#include "millrace/transport/protocol/rounds.h"
#include "millrace/transport/protocol/running_calls.h"
#include "millrace/transport/protocol/silence.h"
#include "millrace/transport/threads/after_event.h"

namespace millrace::transport {

class LineRequest;

// What all lines of a server share. Host and methods are there as long as calls run.
struct LineService {
  Host host;
  const ServedMethods& methods;
  std::shared_ptr<RunningCalls> running;
  std::shared_ptr<Rounds> rounds;       // with as much patience as silent peers are given
  std::shared_ptr<AfterEvent> goes_on;  // where calls go on after a wait
};

class ServedLine final : public Connection, public Visited {
 public:
  // A connection whose greeting has been answered.
  ServedLine(FileDescriptor socket, std::shared_ptr<const LineService> service,
             std::shared_ptr<Intake> intake);
  ~ServedLine() override;

  // The call is known no more: it is being answered. False if nobody waits for the answer.
  bool forget(uint32_t number) { return take(number) != nullptr; }

  void visit() override;
  bool has_waiting_calls() const override;
  void end_visits() override {}

 private:
  Status received(DirectMessage message, Events& events) override;
  void ended(const Status& why, Events& events) override;
  bool remember(uint32_t number, std::shared_ptr<LineRequest> call);
  Status take_request(DirectMessage message, Events& events);
  std::shared_ptr<LineRequest> take(uint32_t number);

  const std::shared_ptr<const LineService> service_;
  std::atomic<bool> heard_{false};
  Silence silence_;  // of who makes the rounds
  mutable Mutex calls_mutex_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<LineRequest>> calls_ MR_GUARDED_BY(calls_mutex_);
};

}  // namespace millrace::transport
