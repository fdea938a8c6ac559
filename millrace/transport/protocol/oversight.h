// Oversight: who watches over a call that goes out.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/base/metrics.h"
#include "millrace/transport/protocol/caller.h"
#include "millrace/transport/protocol/peer_pulse.h"

namespace millrace::transport {

// Hears of peers that speak what transport/direct speaks.
class OfferTaker {
 public:
  virtual ~OfferTaker() = default;
  // The peer at this end of a call: "ipv4:10.0.0.1:2222".
  virtual void offered(std::string_view peer) = 0;
  // It does not, or not any more.
  virtual void withdrawn() = 0;
};

struct Oversight {
  // Whom to tell that the peer is alive, and who ends the call if it is not.
  std::shared_ptr<PeerPulse> pulse;
  // Counts the call and its bytes.
  Metrics& metrics;
  // Only asks whether somebody is there: whoever reads the queue takes the answer, and the call is
  // not ended by the silence that it is about.
  bool is_question = false;
  // Whom to tell whether the peer offers another way, and at which of its addresses. May be null.
  std::shared_ptr<OfferTaker> offers = nullptr;
};

// Whether the call may be made. Errors: the reason of its cancellation, as a consequence;
// INVALID_ARGUMENT for a message that is too large; UNAVAILABLE while its peer is silent.
Status check_request(const OutgoingRequest& request, const Oversight& oversight);

}  // namespace millrace::transport
