// Errors of our calls, put so that the reader knows which peer they are about and what to do. What
// a connection fails with is known by gRPC's words for it, which are the system's in most cases.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"

namespace millrace::transport {

// Whom we call.
struct Peer {
  std::string name;     // "/job:worker/replica:0/task:1", "the master"
  std::string address;  // "host:port"

  std::string to_string() const;  // "/job:worker/replica:0/task:1 at host:port"
};

// An error, and who found it.
struct CallFailure {
  enum class Origin : uint8_t { peer, connection };

  Status status;
  Origin origin = Origin::peer;
};

// Errors that the peer sent keep their code and words, which clients key on. Errors of the
// connection become UNAVAILABLE (or stay DEADLINE_EXCEEDED and the like) and name the peer and the
// method.
Status explain_failure(const Peer& peer, std::string_view method, const CallFailure& failure);

// True if the failure's words are the peer's own, so that it is alive.
bool is_said_by_peer(const CallFailure& failure);

// UNAVAILABLE, for a call to a peer that has been silent for so long, although the connection
// stands.
Status explain_silence(const Peer& peer, std::string_view method, Clock::Duration silence);
// "15 s", "2.5 s"
std::string in_seconds(Clock::Duration duration);

// For an answer that is no proper message: INTERNAL, naming the peer and the method.
Status explain_bad_answer(const Peer& peer, std::string_view method, const Status& problem);

}  // namespace millrace::transport
