// NumericAddress: where a peer is, as numbers: no name has to be looked up.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace::transport {

struct NumericAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  // Of gRPC's words for the other end of a call: "ipv4:10.0.0.1:2222", "ipv6:[::1]:2222", the
  // brackets escaped or not. Nothing for others.
  static std::optional<NumericAddress> of_peer(std::string_view uri);
  // The same bytes for the same place.
  std::string_view as_key() const { return {reinterpret_cast<const char*>(&bytes), size}; }
  friend bool operator==(const NumericAddress& a, const NumericAddress& b);
};

// A socket that does not block, on its way to `address`; none if the system refuses.
FileDescriptor begin_to_connect(const NumericAddress& address);

}  // namespace millrace::transport
