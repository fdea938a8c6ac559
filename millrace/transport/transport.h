// Transport: one way between tasks and from clients to tasks, whatever carries the calls.
//
// A transport does three things: it dials a master, it reaches the workers of other tasks, and it
// serves a task's own master and worker to those who dial. Above it nobody can tell which one is in
// use: what comes out are the interfaces of cluster/services.h. transport/all.h lists them all.
//
// Thread-safe. A transport outlives what it made. Making one costs nothing: threads, sockets and
// libraries start with the first use.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/runner.h"
#include "millrace/cluster/services.h"
#include "millrace/cluster/standby_service.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace {

// What a task offers. Whoever has got hold of a service may keep it alive.
struct Services {
  const OpRegistry& ops;  // of the graphs that arrive; outlives the serving
  // Both null: a task that stands by for another one. Who asks for them hears UNAVAILABLE.
  std::shared_ptr<MasterService> master;
  std::shared_ptr<WorkerService> worker;
  // Null: the task is no witness, nor a side of a state that two tasks hold.
  std::shared_ptr<StandbyService> standby = nullptr;
};

struct ServeOptions {
  // "host:port", by which others look for the task.
  std::string address;
  // Where they connect to. A transport without connections closes it.
  std::optional<ListeningSocket> socket = std::nullopt;
  // How often a silent client is asked whether it is still there, where there are connections.
  std::chrono::milliseconds keepalive{20'000};
  // In whose name it tells of what happens to connections; outlives the serving. Null: the
  // transport's own.
  const Log* log = nullptr;
};

// How long a process waits for peers that have fallen silent.
struct PeerPatience {
  // After so much silence, questions included, a peer is given up: calls to it end with that cause.
  // After a third of it the log says so. 0: never. A slow machine needs no more than a fast one,
  // since servers answer questions whatever their steps do; a debugger that stops a task does.
  std::chrono::milliseconds limit{15'000};
};

struct PeerOptions {
  // How often a silent peer is asked whether it is still there, where there are connections.
  std::chrono::milliseconds keepalive{310'000};
  PeerPatience patience = {};
  // In whose name it tells of peers that fall silent; outlives the directory. Null: the transport's
  // own.
  const Log* log = nullptr;
};

// A task that is being served. Ends with its destructor, if stop() has not been called.
class Serving {
 public:
  virtual ~Serving() = default;
  // Nobody finds the task from now on. Calls that came from other processes are cancelled with
  // `why`; it returns when none of them is being handled any more. Answers that come within `grace`
  // are still sent. Callers that hold a service by pointer hear of its end from the service. Not to
  // be called from a handler.
  // Errors: DEADLINE_EXCEEDED naming the methods if calls are still being handled after twice the
  // grace: the services must stay until this is destroyed.
  virtual Status stop(const Status& why, Clock::Duration grace) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // What targets begin with: "grpc" for "grpc://host:port".
  virtual std::string_view scheme() const = 0;
  // Where many of its callers are best told at once: on the thread that writes to them. Null: any
  // other place is as good.
  virtual Runner* answers() { return nullptr; }
  // The master behind `target`. Waits for nobody; a transport with connections makes one with the
  // first call.
  // A master that stays silent for longer than `patience` is given up, where there are connections.
  // Errors: INVALID_ARGUMENT for a target of another form; NOT_FOUND where it is known at once that
  // nobody is there.
  virtual Result<std::shared_ptr<MasterService>> dial(std::string_view target,
                                                      const PeerPatience& patience) = 0;
  // The workers of other tasks, by address. One object per task: it may share its connections.
  virtual std::unique_ptr<WorkerDirectory> peers(const PeerOptions& options) = 0;
  // The witness or the other side of a state, by the address ("host:port") of its task. Cheap;
  // connects with the first call. Errors: as of dial().
  virtual Result<std::shared_ptr<StandbyService>> standby(std::string_view address,
                                                          const PeerPatience& patience) = 0;
  // Serves at once.
  // Errors: INVALID_ARGUMENT without a socket where one is needed; ALREADY_EXISTS for an address
  // that is taken.
  virtual Result<std::unique_ptr<Serving>> serve(Services services, ServeOptions options) = 0;
};

}  // namespace millrace
