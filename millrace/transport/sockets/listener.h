// Listener: the thread that accepts connections.
//
// The listening socket is ours and not gRPC's: bound before there is a server, shared with nobody,
// maybe handed over by a launcher; and each connection can be tuned before gRPC sees it.
#pragma once

#include <thread>

#include "absl/functional/any_invocable.h"

#include "millrace/base/log_limit.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace::transport {

class Listener {
 public:
  // Gets each accepted connection, tuned and non-blocking, on the accepting thread, and owns it.
  using OnConnection = absl::AnyInvocable<void(FileDescriptor)>;

  Listener(ListeningSocket socket, OnConnection on_connection);
  // As stop().
  ~Listener();

  // Accepts from now on. Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a descriptor.
  Status start();
  // Closes the socket; no connection comes after it returns.
  void stop();

 private:
  void accept_until_stopped();
  bool accept_one();
  void complain(int number);

  ListeningSocket socket_;
  FileDescriptor stop_;  // an eventfd
  OnConnection on_connection_;
  LogLimit complaints_{std::chrono::seconds(10)};
  std::thread thread_;
};

}  // namespace millrace::transport
