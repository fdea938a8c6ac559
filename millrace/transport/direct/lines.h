// Lines: the ways to one peer that are not gRPC, as far as it offers them: the process's line for
// calls that nobody waits for (shared_lines.h), and private lines for callers that wait. Any thread
// may call.
//
// A peer that is a program of ours says so in answers to some calls that are made the other way
// (promises.h). Lines connect with the first call after that; until they have, and if they can't,
// calls go the other way, which knows what to say of a peer that can't be reached, and how to wait
// for one that is to come.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/transport/direct/direct_threads.h"
#include "millrace/transport/direct/numeric_address.h"
#include "millrace/transport/direct/private_line.h"
#include "millrace/transport/direct/shared_lines.h"

namespace millrace::transport {

class Lines final : public OfferTaker {
 public:
  // None without threads. `host` outlives the calls.
  static std::shared_ptr<Lines> to_a_peer(const Host& host, const DirectThreads* threads) {
    return threads == nullptr ? nullptr : std::make_shared<Lines>(host, *threads);
  }
  // A line for a caller that waits has to be there within `patience`: a peer that has just answered
  // another way takes no longer, unless it has been stopped since.
  Lines(const Host& host, const DirectThreads& threads,
        std::chrono::milliseconds patience = std::chrono::milliseconds(500));
  // Calls that run are finished and answered.
  ~Lines() override = default;
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void offered(std::string_view peer) override;
  void withdrawn() override;

  // Makes the call, as Line has it; false if it has to go the other way.
  bool start(OutgoingRequest& request, const Oversight& oversight, Line::Answer& answer);
  // For a caller that waits; nothing if the call has to go the other way, and nothing was taken.
  std::optional<Result<ReceivedBytes>> call_and_wait(OutgoingRequest& request,
                                                     const Oversight& oversight);
  // For tests: the line is there, and takes the next call.
  bool is_up();

 private:
  std::shared_ptr<Line> line();
  std::unique_ptr<PrivateLine> take();
  void give_back(std::unique_ptr<PrivateLine> line);

  const Host host_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Intake> intake_;
  const std::shared_ptr<SharedLines> shared_;
  Mutex mutex_;
  std::optional<NumericAddress> offer_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<Line> line_ MR_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<PrivateLine>> idle_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
