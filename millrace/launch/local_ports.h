// A port of this machine that is taken before the program that will serve on it starts.
//
// The socket is bound and not listening: nobody else gets the port, and whoever connects too early
// is refused at once. Whoever inherits the descriptor calls listen() on it.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

class HeldPort {
 public:
  // `port` 0: a free one. Errors: INVALID_ARGUMENT if the host can't be resolved or is not of this
  // machine; ALREADY_EXISTS if the port is in use, with who has it; otherwise what the system says.
  static Result<HeldPort> bind(const std::string& host, int port);

  // Another socket bound to the same address, for a task that will come again. This one keeps the
  // port while nobody listens at the other: it never does itself, so that whoever connects then is
  // refused. Errors: what the system says.
  Result<HeldPort> share() const;
  // Ends what share() allowed, once the other socket is closed: nobody else may bind the port.
  void keep_alone() const;

  // A descriptor of the same socket, which listens and never makes its reader wait, for a server of
  // this process. Errors: UNAVAILABLE with what the system says.
  Result<Descriptor> listen(int backlog) const;

  int port() const { return port_; }
  int descriptor() const { return socket_.number(); }

 private:
  HeldPort(Descriptor socket, int port) : socket_(std::move(socket)), port_(port) {}

  Descriptor socket_;
  int port_;
};

}  // namespace millrace
