// A connection to a server of Hadoop, for the poll loop of whoever asks: the socket around
// hadoop_rpc.h. Never waits, but for the name of the machine; single-threaded.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/yarn/hadoop_rpc.h"

namespace millrace {

class HadoopLink {
 public:
  // Begins to connect. Errors: UNAVAILABLE for a machine that nobody knows, or that refuses.
  static Result<HadoopLink> connect(const std::string& host, int port, HadoopLogin login);

  int call(std::string_view method, std::string_view request) {
    return connection_.call(method, request);
  }

  pollfd event() const;
  // Sends and receives what can be without waiting. Errors, after which it is of no use:
  // UNAVAILABLE when the server is gone, and those of HadoopConnection.
  Result<std::vector<HadoopConnection::Answer>> turn();

 private:
  HadoopLink(Descriptor socket, HadoopLogin login)
      : socket_(std::move(socket)), connection_(std::move(login)) {}
  Status finish_connecting();
  Status write();

  Descriptor socket_;
  HadoopConnection connection_;
  bool is_connected_ = false;
  std::string unsent_;
};

}  // namespace millrace
