// PairedServer: a task whose state another task has, too, and that stands by or serves, life after
// life (docs/design/standby.md).
//
//   MR_ASSIGN(auto server, PairedServer::start(std::move(options), runtime, wake));
//   while (...) {
//     ... until `wake` is called ...
//     MR_ASSIGN(const PairedServer::State state, server->go_on());
//   }
//
// Its port is bound from the beginning to the end; while it does not serve, clients and other tasks
// hear UNAVAILABLE there. One thread, but for what is said otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "millrace/cluster/late_members.h"
#include "millrace/session/server.h"
#include "millrace/session/succession.h"

namespace millrace {

struct PairedServerOptions {
  // As a server of its own would have them: `members` and `own_address` say where it listens,
  // `job` and `task` whose state it is, and there is a state_folder.
  ServerOptions server = {};
  std::string witness_address;
  bool is_first = true;  // false: it stands by for the one that begins
  // How long the other side may be silent before the witness is asked; a fifth of it is between
  // two signs of life.
  std::chrono::milliseconds silence{1'000};
};

class PairedServer {
 public:
  using State = Succession::State;

  // `on_change` is called, on any thread, when there is something to do for go_on().
  // Errors: those of binding, and of StandbyStore::open().
  static Result<std::unique_ptr<PairedServer>> start(PairedServerOptions options,
                                                     std::shared_ptr<Runtime> runtime,
                                                     std::function<void()> on_change);
  // Stops, if stop() has not been called.
  ~PairedServer();

  // Begins to serve, or ends a life and begins the next, if that is to be done; what it is then.
  // Waits for the disk and for what is under way.
  // Errors: of a server that can't be started; DATA_LOSS if the witness has lost its record; those
  // of the disk. It does not go on then.
  Result<State> go_on();
  // "host:port" as others call it.
  const std::string& address() const { return address_; }
  // Of its socket, as numbers.
  std::string bound_address() const { return socket_->address(); }
  // As Server::end(), while it serves.
  void end(const Status& how) {
    if (server_) server_->end(how);
  }
  // While it serves.
  const Server* server() const { return server_.get(); }
  Status stop(const Status& why);

 private:
  PairedServer(PairedServerOptions options, std::shared_ptr<Runtime> runtime,
               std::function<void()> on_change);
  Status begin_life();
  Status serve();
  Status end_life(const Status& why);

  const PairedServerOptions options_;
  const std::shared_ptr<Runtime> runtime_;
  const std::function<void()> on_change_;
  const TaskName task_;
  const Log log_;
  const Host host_;
  std::string address_;
  std::optional<ListeningSocket> socket_;  // kept for all lives
  std::shared_ptr<Succession> succession_;
  std::unique_ptr<Serving> waiting_room_;  // while it does not serve, or is still being stopped
  std::unique_ptr<Server> server_;         // while it does
};

}  // namespace millrace
