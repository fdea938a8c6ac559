// CallTerms: what is known of a call of ours whatever line carries it, and what its end means.
// Private to this room.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "millrace/base/cancellation.h"
#include "millrace/base/clock.h"
#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/oversight.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {

struct CallTerms {
  std::shared_ptr<const Peer> peer;
  std::string_view method;
  Cancellation* cancellation;
  std::optional<Clock::Time> deadline;
  WhenDown when_down;
  AttentiveThread* attentive;
  std::shared_ptr<PeerPulse> pulse;
  Metrics& metrics;

  static CallTerms of(const OutgoingRequest& request, const Oversight& oversight) {
    return {request.peer,      request.method,    request.cancellation, request.deadline,
            request.when_down, request.attentive, oversight.pulse,      oversight.metrics};
  }
  // Calls that may wait for the peer to come up are left alone by its pulse.
  bool is_overseen() const { return when_down == WhenDown::fail; }
  void count_request(size_t bytes) const {
    metrics.add(counter_of(RpcSide::made, rpc_method(method)));
    metrics.add(Counter::bytes_sent, static_cast<int64_t>(bytes));
  }
  void count_answer(size_t bytes) const {
    metrics.add(Counter::bytes_received, static_cast<int64_t>(bytes));
  }
  // How long the other side has; 0: as long as it likes.
  uint64_t micros_left(Clock::Time now) const {
    if (!deadline) return 0;
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(*deadline - now);
    return static_cast<uint64_t>(std::max<int64_t>(left.count(), 1));
  }

  // The peer answered with this error.
  Status told(const WireStatus& error) const {
    pulse->heard();
    return explain_failure(*peer, method, {from_wire_status(error), CallFailure::Origin::peer});
  }
  // The connection broke.
  Status broke(const Status& why) const {
    pulse->missed();
    return explain_failure(*peer, method, {why, CallFailure::Origin::connection});
  }
  Status too_late() const {
    pulse->missed();
    return explain_failure(
        *peer, method,
        {error(Code::deadline_exceeded, "the deadline passed"), CallFailure::Origin::connection});
  }
  // It was over before it began.
  Status why_too_late() const {
    const bool is_cancelled = cancellation != nullptr && cancellation->cancelled();
    return is_cancelled ? cancellation->reason().as_consequence() : too_late();
  }
  Status bad_answer(const Status& problem) const {
    return explain_bad_answer(*peer, method, problem);
  }
};

}  // namespace millrace::transport
