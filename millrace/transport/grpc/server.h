// GrpcServer: a task's master and worker, served to the world over gRPC with TensorFlow's methods
// and messages.
//
//   MR_ASSIGN(auto socket, ListeningSocket::bind("", 2222));     // first of all
//   GrpcThreads threads;
//   ... master, worker ...
//   MR_ASSIGN(auto server, GrpcServer::start(host, std::move(socket), threads, ops, master,
//   worker));
//   ...
//   MR_TRY(server->stop(aborted("the task is shutting down")));
//
// Requests are decoded and handled on the threads of `threads`, one after the other as long as they
// are quick. A call that waits holds no thread. Malformed requests are answered with an error and
// disturb nobody; unknown methods with UNIMPLEMENTED.
#pragma once

#include <chrono>
#include <memory>

#include "millrace/base/host.h"
#include "millrace/base/status.h"
#include "millrace/cluster/services.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/protocol/received_call.h"
#include "millrace/transport/sockets/listening_socket.h"
#include "millrace/transport/transport.h"

namespace millrace {

struct GrpcServerOptions {
  // How often a silent client is asked whether it is there; one that was cut off without a word is
  // noticed after this long and 20 seconds, and its calls are cancelled.
  std::chrono::milliseconds keepalive{20'000};
};

class GrpcServer {
 public:
  // Serves at once. The host, the services, the ops and the threads must live until the server has
  // stopped. Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a descriptor.
  static Result<std::unique_ptr<GrpcServer>> start(const Host& host, ListeningSocket socket,
                                                   GrpcThreads& threads, const OpRegistry& ops,
                                                   MasterService& master, WorkerService& worker,
                                                   GrpcServerOptions options = {});
  // The same with all that a task offers, or does not (transport.h).
  static Result<std::unique_ptr<GrpcServer>> start(const Host& host, ListeningSocket socket,
                                                   GrpcThreads& threads, const Services& services,
                                                   GrpcServerOptions options = {});
  // Stops, if stop() has not been called.
  ~GrpcServer();

  int port() const;

  // Refuses connections and new calls, cancels those that run with `why`, and returns when no call
  // is being handled any more: the services may go then. Answers that come within `grace` are still
  // sent. Not to be called from a handler.
  // Errors: DEADLINE_EXCEEDED naming the methods if calls are still being handled after twice the
  // grace: the services must stay.
  Status stop(const Status& why, Clock::Duration grace = std::chrono::seconds(2));

 private:
  class Running;
  explicit GrpcServer(std::unique_ptr<Running> running);
  static Result<std::unique_ptr<GrpcServer>> start(const Host& host, ListeningSocket socket,
                                                   GrpcThreads& threads,
                                                   transport::ServedMethods methods,
                                                   GrpcServerOptions options);

  const std::unique_ptr<Running> running_;
};

}  // namespace millrace
