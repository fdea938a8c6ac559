// ListeningSocket: a bound, listening TCP socket that no server uses yet.
//
// A task binds before anything else: its port is then known (if it asked for any) and held, and can
// be announced. Connections that come in before a GrpcServer takes the socket over wait in the
// kernel. A launcher can bind for a task and hand the socket over, so that nobody races for the
// port.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace {

class ListeningSocket {
 public:
  // Binds `host` (a name, an address, or empty for all interfaces over IPv4) and listens. Port 0
  // takes a free one. Of several addresses of a name the first that can be bound is used, IPv4
  // before IPv6.
  // Errors: NOT_FOUND for a host that does not resolve; INVALID_ARGUMENT for one that is not of
  // this machine; ALREADY_EXISTS for a port in use, with the process that has it if /proc tells;
  // PERMISSION_DENIED.
  static Result<ListeningSocket> bind(const std::string& host, int port);
  // Takes over a bound TCP socket, listening or not.
  // Errors: INVALID_ARGUMENT if it is something else. It is closed then.
  static Result<ListeningSocket> adopt(int descriptor);

  int port() const { return port_; }
  // Where it is bound, as numbers: "127.0.0.1:40123", "0.0.0.0:2222", "[::]:2222".
  std::string address() const;
  const transport::FileDescriptor& descriptor() const { return descriptor_; }
  void close() { descriptor_.close(); }

 private:
  ListeningSocket(transport::FileDescriptor descriptor, int port)
      : descriptor_(std::move(descriptor)), port_(port) {}
  static Result<ListeningSocket> listen(transport::FileDescriptor descriptor);

  transport::FileDescriptor descriptor_;
  int port_;
};

// False if `host` is an address, written as numbers, that no interface of this machine has. Names
// are not looked up.
bool may_be_of_this_machine(const std::string& host);

}  // namespace millrace
