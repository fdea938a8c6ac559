// Listener: the thread that accepts connections, looks at their first bytes and hands them on.
//
// The listening socket is ours and not gRPC's: bound before there is a server, shared with nobody,
// maybe handed over by a launcher; each connection can be tuned before gRPC sees it, and one port
// can serve several protocols.
#pragma once

#include <thread>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/log_limit.h"
#include "millrace/transport/sockets/listening_socket.h"
#include "millrace/transport/sockets/reception.h"

namespace millrace::transport {

class Listener {
 public:
  // The takers get connections tuned and non-blocking, on the accepting thread. What none of them
  // takes is refused (reception.h).
  Listener(const Host& host, ListeningSocket socket, std::vector<Taker> takers);
  // As stop().
  ~Listener();

  // Accepts from now on. Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a descriptor.
  Status start();
  // Closes the socket; no connection comes after it returns.
  void stop();

 private:
  void accept_until_stopped();
  int patience(bool paused) const;
  bool accept_one();
  void complain(int number);

  const Host host_;
  ListeningSocket socket_;
  FileDescriptor stop_;  // an eventfd
  Reception reception_;  // touched by the thread only
  LogLimit complaints_{std::chrono::seconds(10), host_.clock, host_.metrics};
  std::thread thread_;
};

}  // namespace millrace::transport
