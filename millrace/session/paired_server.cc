#include "millrace/session/paired_server.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/host_port.h"
#include "millrace/transport/all.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

// Who only stands by answers at once.
constexpr auto kWaitingRoomPatience = 100ms;

// The same socket once more: it goes on when this one is closed.
Result<int> share(const ListeningSocket& socket) {
  const int shared = ::fcntl(socket.descriptor().get(), F_DUPFD_CLOEXEC, 0);
  if (shared >= 0) return shared;
  return error(Code::resource_exhausted, "can't keep the port of a task: ", std::strerror(errno));
}

}  // namespace

PairedServer::PairedServer(PairedServerOptions options, std::shared_ptr<Runtime> runtime,
                           std::function<void()> on_change)
    : options_(std::move(options)),
      runtime_(std::move(runtime)),
      on_change_(std::move(on_change)),
      task_{options_.server.job, 0, options_.server.task},
      log_(runtime_->host().log.named(
          str_cat(short_name(task_), options_.is_first ? "" : " (standby)"))),
      host_(runtime_->host().in_the_name_of(log_)) {}

Result<std::unique_ptr<PairedServer>> PairedServer::start(PairedServerOptions options,
                                                          std::shared_ptr<Runtime> runtime,
                                                          std::function<void()> on_change) {
  if (options.server.state_folder.empty())
    return invalid("a task that has a witness needs a folder for its state");
  MR_TRY(runtime->start_threads());
  std::unique_ptr<PairedServer> made(
      new PairedServer(std::move(options), std::move(runtime), std::move(on_change)));
  const ServerOptions& server = made->options_.server;
  MR_ASSIGN(HostPort own, HostPort::parse(server.own_address));
  if (server.listen_fd) {
    MR_ASSIGN(made->socket_, ListeningSocket::adopt(*server.listen_fd));
  } else {
    MR_ASSIGN(made->socket_, ListeningSocket::bind(server.bind_host, own.port));
  }
  own.port = made->socket_->port();
  made->address_ = own.to_string();
  MR_TRY(made->begin_life());
  return made;
}

PairedServer::~PairedServer() {
  if (const Status status = stop(unavailable("the task has been stopped")); !status.ok())
    log_.warning(status.to_string());
}

Status PairedServer::begin_life() {
  Transport& transport = runtime_->transports().between_tasks();
  MR_ASSIGN(const int shared, share(*socket_));
  MR_ASSIGN(ListeningSocket socket, ListeningSocket::adopt(shared));
  const std::string folder = str_cat(options_.server.state_folder, "/", task_.job, "-", task_.task);
  MR_ASSIGN(succession_, Succession::begin(host_, transport,
                                           {.state = task_.to_string(),
                                            .address = address_,
                                            .witness = options_.witness_address,
                                            .folder = folder,
                                            .is_first = options_.is_first,
                                            .silence = options_.silence,
                                            .pulse = options_.silence / 5},
                                           on_change_));
  MR_ASSIGN(
      waiting_room_,
      transport.serve(
          {.ops = runtime_->ops(), .master = nullptr, .worker = nullptr, .standby = succession_},
          {.address = address_,
           .socket = std::move(socket),
           .keepalive = options_.server.client_keepalive,
           .log = &log_}));
  return {};
}

Status PairedServer::serve() {
  const Status why = unavailable(task_.to_string(), " begins to serve here");
  // What takes longer there, on a busy machine, ends beside: the state is to be served.
  const Status emptied = waiting_room_->stop(why, kWaitingRoomPatience);
  if (emptied.ok()) {
    waiting_room_ = nullptr;
  } else {
    log_.info(emptied.to_string());
  }
  ServerOptions options = options_.server;
  options.witness = "";
  options.own_address = address_;
  MR_ASSIGN(options.listen_fd, share(*socket_));
  options.follower = succession_;
  options.standby = succession_;
  MR_ASSIGN(server_, Server::start(std::move(options), runtime_));
  return {};
}

Status PairedServer::end_life(const Status& why) {
  Status ended;
  // First, so that steps that wait for the other side end.
  if (succession_) succession_->stop(why);
  if (server_) ended = server_->stop(why);
  server_ = nullptr;
  if (waiting_room_) (void)waiting_room_->stop(why, kWaitingRoomPatience);
  waiting_room_ = nullptr;
  succession_ = nullptr;
  return ended;
}

Result<PairedServer::State> PairedServer::go_on() {
  if (succession_ == nullptr) return failed_precondition("the task has been stopped");
  if (succession_->state() == State::over) {
    MR_TRY(succession_->why_over());
    // What took too long to stop has been waited for.
    const Status ended = end_life(unavailable("another task owns the state of ", task_.to_string(),
                                              "; this one serves it no longer"));
    if (!ended.ok()) log_.warning(ended.to_string());
    MR_TRY(begin_life());
  } else if (succession_->state() == State::serves && server_ == nullptr) {
    MR_TRY(serve());
  }
  return server_ != nullptr ? State::serves : State::stands_by;
}

Status PairedServer::stop(const Status& why) { return end_life(why); }

}  // namespace millrace
