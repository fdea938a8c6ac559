// CallServer: a gRPC server that knows methods by their path and nothing of what they mean. Private
// to this room.
//
// It listens on a socket that is bound already, and serves from listen() until stop(). Handlers run
// on the threads of the completion queue.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/transport/direct/direct_server.h"
#include "millrace/transport/grpc/incoming_call.h"
#include "millrace/transport/sockets/listener.h"

namespace millrace::transport {

class CallServer final : public CallReceiver {
 public:
  struct Options {
    int keepalive_millis = 20'000;  // how often a silent client is asked whether it is there
    int calls_expected = 16;        // how many may arrive before the first is looked at
  };

  // `host` outlives this. With `direct` it serves programs of ours without gRPC, too.
  CallServer(const Host& host, ListeningSocket socket, ServedMethods methods,
             std::shared_ptr<CompletionQueue> queue, const DirectThreads* direct, Options options);
  ~CallServer() override;

  // Accepts connections from now on. Errors: RESOURCE_EXHAUSTED.
  Status listen() { return listener_->start(); }
  int port() const { return port_; }

  // Refuses connections and calls, cancels calls that run with `why`, and waits until none is being
  // handled. After `grace` connections are cut; after twice that it gives up, or goes on for as
  // long as only connections have to close, up to 20 s more. Errors: DEADLINE_EXCEEDED naming the
  // methods whose handlers have not returned.
  Status stop(const Status& why, Clock::Duration grace);

  void arrived() override;
  bool knows(std::string_view method) const override { return methods_.contains(method); }
  void handle(std::shared_ptr<IncomingCall> call) override;
  const Host& host() const override { return host_; }
  std::string_view direct_version() const override;

 private:
  class Shutdown;

  const Host host_;
  const ServedMethods methods_;
  const std::shared_ptr<CompletionQueue> queue_;
  const std::shared_ptr<RunningCalls> running_;
  const ServerHandle server_;
  const int port_;
  bool stopped_ = false;
  const std::unique_ptr<DirectServer> direct_;  // null: gRPC alone
  std::unique_ptr<Listener> listener_;          // last: hands connections to the rest
};

}  // namespace millrace::transport
