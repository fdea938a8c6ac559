// Errors as gRPC carries them: a code, a short message, and details in a trailer.
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

namespace millrace::transport {

inline constexpr std::string_view kDetailsKey = "grpc-status-details-bin";
inline constexpr size_t kMaxMessageText = 3072;
inline constexpr size_t kMaxWord = 512;
inline constexpr size_t kMaxDetails = 4096;

struct WireStatus {
  int code = 0;  // OK; a peer may send any number, known or not
  std::string message;
  std::string details;  // empty: no trailer
};

// The text with the middle of each word of more than kMaxWord bytes left out: names that somebody
// sent come back in errors, and need not be whole to be known again.
std::string without_long_words(std::string_view text);

// The text with each byte that belongs to no character of UTF-8 replaced by U+FFFD: a message with
// one in a field that is text reaches nobody, and errors may tell of bytes that somebody sent.
std::string as_utf8(std::string_view text);

WireStatus to_wire_status(const Status& status);
// OK for 0. A number that is no code becomes UNKNOWN.
Status from_wire_status(const WireStatus& wire);

// For answers that carry an error where TensorFlow's clients would repeat the call on UNAVAILABLE,
// although it may have had effects: ABORTED instead, with the code put aside for our own clients.
Status hide_unavailable(const Status& status);
// What hide_unavailable() was given.
Status show_unavailable(const Status& status);

}  // namespace millrace::transport
