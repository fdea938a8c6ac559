// Server: one task of a cluster, in this process, on a port.
//
//   MR_ASSIGN(auto server, Server::start({.cluster = cluster, .job = "map", .task = 1}, runtime));
//   MR_ASSIGN(auto session, Session::create(server->target()));
//   ...
//   server->join();
//
// It owns the task's devices, what lives on them (variables, queues), its worker and its master. It
// binds its port before it does anything else, and answers peers and clients from then on until it
// is stopped. Several servers may run in one process, one after the other or side by side. Any
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/inspection.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/services.h"
#include "millrace/cluster/standby_service.h"
#include "millrace/cluster/task_report.h"
#include "millrace/io/journal.h"
#include "millrace/op/durable.h"
#include "millrace/session/runtime.h"

namespace millrace {

struct ServerOptions {
  ClusterSpec cluster = {};
  // Instead of `cluster`, where addresses become known late, or change (cluster/late_members.h).
  std::shared_ptr<Members> members = nullptr;
  // With members: "host:port" by which the others reach this task; port 0 takes a free one. Empty:
  // what the members say. They are told of it when the port is bound.
  std::string own_address = {};
  std::string job = {};
  int task = 0;
  // Where to listen: a host name or address of this machine; empty: all interfaces. The port is
  // that of the task's own entry in the cluster; 0 takes a free one.
  std::string bind_host = {};
  // A socket that is bound already, as launchers hand over. It is taken over whatever happens.
  std::optional<int> listen_fd = std::nullopt;
  // Where it tells that it serves and what it waits for; null: nowhere.
  std::shared_ptr<TaskReport> report = nullptr;
  SessionOptions default_options = {};  // what sessions get that ask for nothing else
  int cpu_devices = 1;
  // A folder of this machine where the task's queues and variables are kept, so that its next life
  // has them: in `<job>-<task>` below it. Empty: where the runtime says, which is nowhere unless
  // MILLRACE_STATE is set: then they go with the process.
  std::string state_folder = {};
  // What it keeps there. Left out: what the runtime says, which is all unless MILLRACE_STATE_KEEPS
  // is set.
  std::optional<Keep> state_keeps = std::nullopt;
  // The task that says who owns the states that two tasks hold (docs/design/standby.md), as
  // "/job:chief/task:0": all tasks of the cluster name the same one, and that one itself. Needs
  // `cluster`. The witness needs a state_folder; another task that has one holds its state so that
  // a second one may have it, too. Empty: there is none. Left out: what the runtime says.
  std::optional<std::string> witness = std::nullopt;
  // The task, named likewise, whose state this one has, too, and that it takes over when that is
  // gone: under that one's name, at the address that the cluster has for `job` and `task`. Needs a
  // witness, and a state_folder, of which it takes `<job>-<task>` if that is another name. Empty:
  // what the runtime says of the job (standbys).
  std::string stands_by_for = {};
  // How long the other task that has the state may be silent before the witness is asked who owns
  // it.
  std::chrono::milliseconds suspect_after{1'000};
  // Of a state that two tasks hold: who has all that is kept there, too. Null: nobody.
  std::shared_ptr<io::JournalFollower> follower = nullptr;
  // What it answers as the witness of such states, or as a side of one. Null: it is neither.
  std::shared_ptr<StandbyService> standby = nullptr;
  // How long another task that owes an answer may be silent, questions included, before calls to it
  // end with that cause; the log tells after a third of it. 0: for ever. Left out: as the runtime
  // has it.
  std::optional<std::chrono::milliseconds> silence_limit = std::nullopt;
  // How often gRPC asks a silent connection to a peer or from a client whether it stands.
  std::chrono::milliseconds peer_keepalive{310'000};
  std::chrono::milliseconds client_keepalive{20'000};
};

class Server {
 public:
  // `runtime` null: one of its own.
  // Errors: NOT_FOUND for a task that is not in the cluster, with what there is; those of binding
  // (ALREADY_EXISTS for a port in use, with the process that has it); INVALID_ARGUMENT for a socket
  // of another port than the cluster says, and for both a cluster and members; UNAVAILABLE if
  // members do not know where this task is to listen, nor own_address says so; for state_folder
  // FAILED_PRECONDITION if another process has it, DATA_LOSS if it is damaged, those of the disk;
  // as take_witness() (session/witnessed.h).
  static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                               std::shared_ptr<Runtime> runtime = nullptr);
  // Stops, and waits until nothing runs on the task any more.
  ~Server();

  // "grpc://host:port": what clients dial. Of a task whose state another one has, too: they hear
  // UNAVAILABLE there while that one owns it.
  std::string target() const;
  // "host:port" as the cluster knows it, with the port that was really bound.
  const std::string& address() const;
  // "host:port" of the socket, as numbers: "0.0.0.0:2222" if it listens on all interfaces.
  const std::string& bound_address() const;
  const TaskName& task() const;
  // As it was given, with the port that was really bound; empty if members were.
  const ClusterSpec& cluster() const;

  // For sessions in this process, which keep what they need alive.
  std::shared_ptr<MasterService> master();
  const std::shared_ptr<Runtime>& runtime() const;

  // What it waits for, as `millrace status` tells it.
  TaskDescription describe() const;

  // Why it stopped by itself, which only a server does whose state another task has, too: its disk
  // refused what it was sent (then that one goes on), or the witness has lost its record. OK if it
  // has not.
  Status failure() const;

  // Blocks until somebody calls stop() or it stops by itself (true), or until `deadline` (false).
  bool join(std::optional<Clock::Time> deadline = std::nullopt);

  // The program is over, with this status: tells whoever started it (ServerOptions::report), and,
  // if it went well or its input was exhausted, the other tasks, so that no session waits for this
  // one from now on. To be called when the sessions of the program are closed; the server then
  // goes. Blocks until the others have heard, for three seconds at most.
  void end(const Status& how);

  // Stops answering, ends everything under way with `why` (UNAVAILABLE if left out), and closes the
  // port. Further calls return what the first one did.
  // Errors: DEADLINE_EXCEEDED if something is still running after about five seconds (a kernel that
  // computes, say); it is waited for when the server is destroyed.
  Status stop(Status why = {});

 private:
  class Running;
  class OneLife;
  class Lives;
  explicit Server(std::unique_ptr<Running> running);
  const std::unique_ptr<Running> running_;
};

}  // namespace millrace
