#include "millrace/transport/grpc/call_server.h"

#include <chrono>
#include <utility>

#include <grpc/grpc_posix.h>

#include "millrace/transport/grpc/channel_args.h"
#include "millrace/transport/protocol/promises.h"

namespace millrace::transport {
namespace {

ServerHandle make_server(const CompletionQueue& queue, const CallServer::Options& options) {
  ChannelArgs args;
  args.set(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive_millis);
  args.set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMillis);
  args.set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Clients may ask as often as they like.
  args.set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  args.set(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  args.set_common();
  ServerHandle server(grpc_server_create(args.get(), nullptr));
  grpc_server_register_completion_queue(server.get(), queue.get(), nullptr);
  grpc_server_start(server.get());
  return server;
}

// As long as gRPC takes to notice that a client is gone.
std::chrono::milliseconds patience_of(const CallServer::Options& options) {
  return std::chrono::milliseconds(options.keepalive_millis + kKeepaliveTimeoutMillis);
}

}  // namespace

// Waits for gRPC to say that the server has let go of its connections.
class CallServer::Shutdown {
 public:
  void* armed(std::shared_ptr<Shutdown> self) { return to_tag(event_.armed(std::move(self))); }
  bool wait(Clock::Time deadline) {
    MutexLock lock(mutex_);
    while (!finished_)
      if (!changed_.wait_until(mutex_, deadline)) return finished_;
    return true;
  }

 private:
  void on_finished(bool) {
    MutexLock lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  MemberEvent<Shutdown> event_{&Shutdown::on_finished, Work::brief};
  Mutex mutex_;
  Condition changed_;
  bool finished_ MR_GUARDED_BY(mutex_) = false;
};

CallServer::CallServer(const Host& host, ListeningSocket socket, ServedMethods methods,
                       std::shared_ptr<CompletionQueue> queue, const DirectThreads* direct,
                       Options options)
    : host_(host),
      methods_(std::move(methods)),
      queue_(std::move(queue)),
      running_(std::make_shared<RunningCalls>(host_.log)),
      server_(make_server(*queue_, options)),
      port_(socket.port()),
      direct_(direct == nullptr ? nullptr
                                : std::make_unique<DirectServer>(host_, methods_, running_, *direct,
                                                                 patience_of(options))) {
  for (int i = 0; i < options.calls_expected; ++i) arrived();
  auto credentials = std::make_shared<ServerCredentials>(grpc_insecure_server_credentials_create());
  std::vector<Taker> takers;
  takers.push_back({Opening::http2, [this, credentials](FileDescriptor connection) {
                      const CompletionQueue::Use use(*queue_);
                      if (use) {
                        grpc_server_add_channel_from_fd(server_.get(), connection.release(),
                                                        credentials->get());
                      }
                    }});
  if (direct_ != nullptr) {
    takers.push_back({Opening::direct,
                      [this](FileDescriptor connection) { direct_->take(std::move(connection)); }});
  }
  listener_ = std::make_unique<Listener>(host, std::move(socket), std::move(takers));
}

CallServer::~CallServer() {
  if (stopped_) return;
  const Status stopped =
      stop(unavailable("the server is being destroyed"), std::chrono::seconds(1));
  if (!stopped.ok()) host_.log.error(stopped.message());
}

std::string_view CallServer::direct_version() const {
  return direct_ != nullptr ? kDirectVersion : std::string_view();
}

void CallServer::arrived() { IncomingCall::await(server_.get(), *this, queue_, running_); }

void CallServer::handle(std::shared_ptr<IncomingCall> call) {
  const Handler& handler = methods_.find(call->method())->second;
  handler(std::move(call));
}

Status CallServer::stop(const Status& why, Clock::Duration grace) {
  if (std::exchange(stopped_, true)) return {};
  const Clock::Time start = host_.clock.now();
  listener_->stop();
  const auto shutdown = std::make_shared<Shutdown>();
  {
    const CompletionQueue::Use use(*queue_);
    if (!use) return failed_precondition("the threads of a server must outlive it");
    queue_->expect();
    grpc_server_shutdown_and_notify(server_.get(), queue_->get(), shutdown->armed(shutdown));
  }
  running_->stop(why);
  // Answers that are on their way get through; after that connections are cut.
  const bool all_answered = running_->wait_until_empty(start + grace);
  if (direct_ != nullptr) direct_->stop(start + grace);
  if (!all_answered || !shutdown->wait(start + grace)) grpc_server_cancel_all_calls(server_.get());
  if (!running_->wait_until_empty(start + 2 * grace)) {
    return error(Code::deadline_exceeded, "the server on port ", port_,
                 " was stopped while calls were being handled: ", running_->list());
  }
  // No call is left, and gRPC closes connections by itself; how soon, hinges on what else the
  // machine has to do.
  constexpr std::chrono::seconds kClosing{20};
  if (!shutdown->wait(start + 2 * grace + kClosing))
    return error(Code::deadline_exceeded, "connections to port ", port_, " did not close in time");
  return {};
}

}  // namespace millrace::transport
