// The address of a task: a host and a port, as ClusterSpecs, TF_CONFIG and flags write them.
//
//   "10.0.0.7:2222"   "worker-1.example.org:2222"   "localhost:0"   "[::1]:2222"
//
// Only the text is looked at: nothing is resolved and nothing is connected. The protocol (grpc://)
// is never part of an address.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// The port that TensorFlow's documents use. Only examples and messages mention it: an address has
// to name its port.
inline constexpr int kConventionalPort = 2222;

struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 0;      // 0 to 65535; 0 asks the system for a free one

  // Errors: INVALID_ARGUMENT that shows the text, what is wrong with it, and how to write it.
  static Result<HostPort> parse(std::string_view text);

  // What parse() accepts: "host:port", IPv6 addresses in brackets.
  std::string to_string() const;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

}  // namespace millrace
