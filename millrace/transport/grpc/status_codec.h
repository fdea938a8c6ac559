// Errors as gRPC carries them: a code, a short message, and details in a trailer. Private to this
// room.
//
//   | grpc-status: the code | grpc-message: at most 3072 bytes | grpc-status-details-bin: payloads
//   |
//
// A message that was too long ends in " ... [truncated]", as TensorFlow's do. Details that would
// not fit into the headers are left out, except whether the error is a consequence.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/status.h"
#include "millrace/transport/grpc/core.h"

namespace millrace::rpc {

inline constexpr std::string_view kDetailsKey = "grpc-status-details-bin";
inline constexpr size_t kMaxMessageText = 3072;
inline constexpr size_t kMaxDetails = 4096;

struct WireStatus {
  int code = GRPC_STATUS_OK;  // a peer may send any number, which gRPC's enum does not hold
  std::string message;
  std::string details;  // empty: no trailer
};

WireStatus to_wire_status(const Status& status);
// OK for GRPC_STATUS_OK. A number that is no code becomes UNKNOWN.
Status from_wire_status(const WireStatus& wire);

// The value of kDetailsKey among trailers; empty if there is none.
std::string_view find_details(const grpc_metadata_array& trailers);

// For answers that carry an error where TensorFlow's clients would repeat the call on UNAVAILABLE,
// although it may have had effects: ABORTED instead, with the code put aside for our own clients.
Status hide_unavailable(const Status& status);
// What hide_unavailable() was given.
Status show_unavailable(const Status& status);

}  // namespace millrace::rpc
