#include "millrace/session/server.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/roster_members.h"
#include "millrace/session/local_task.h"
#include "millrace/session/server_running.h"
#include "millrace/session/witnessed.h"
#include "millrace/transport/sockets/free_descriptors.h"
#include "millrace/transport/sockets/listening_socket.h"
#include "millrace/wire/protobuf_log.h"

namespace millrace {

namespace {

// Each of the two things that stop() waits for may take this long, Serving twice.
constexpr std::chrono::milliseconds kStopPatience{1500};
constexpr std::chrono::seconds kFarewellPatience{3};

// Where the task is to listen, as others call it.
Result<std::string> own_address(const ServerOptions& options, const TaskName& task) {
  if (options.members == nullptr) {
    if (options.own_address.empty()) return options.cluster.address(task);
    return invalid("own_address is '", options.own_address,
                   "', but the cluster says where its tasks are; only with members it is needed");
  }
  if (!options.cluster.empty())
    return invalid("a server is given both a cluster and members; it needs one of them");
  const Result<std::string> known = options.members->address(task);
  if (known.status().code() == Code::not_found || options.own_address.empty())
    return known.status().ok()
               ? known
               : known.status().then("; say in own_address where this task is to listen");
  return options.own_address;
}

// The members, who know from now on where the task really listens.
Result<std::shared_ptr<Members>> settle(ServerOptions& options, const TaskName& task,
                                        const std::string& address, const Runtime& runtime) {
  if (options.members != nullptr) {
    MR_TRY(options.members->serves(task, address));
    return options.members;
  }
  MR_TRY(options.cluster.move_task(task, address));
  if (runtime.roster().empty()) return constant_members(options.cluster);
  return std::make_shared<RosterMembers>(options.cluster, runtime.roster(), runtime.host());
}

Result<ListeningSocket> listen(const ServerOptions& options, const HostPort& own) {
  if (!options.listen_fd) return ListeningSocket::bind(options.bind_host, own.port);
  MR_ASSIGN(ListeningSocket socket, ListeningSocket::adopt(*options.listen_fd));
  if (own.port != 0 && socket.port() != own.port) {
    return invalid("the socket that was handed over listens on port ", socket.port(),
                   ", but the cluster says ", own.to_string(), " for this task");
  }
  return socket;
}

PeerPatience patience(Runtime& runtime, const ServerOptions& options) {
  PeerPatience patience = runtime.patience();
  if (options.silence_limit) patience.limit = *options.silence_limit;
  return patience;
}

// Says where it really listens if that is not what the cluster calls it.
void tell_address(const Log& log, const TaskName& task, const ServerOptions& options,
                  const HostPort& own, const std::string& bound) {
  const std::string address = own.to_string();
  if (options.bind_host == own.host || bound == address) return log.info("listens on ", address);
  log.info("listens on ", bound, "; the cluster calls it ", address);
  if (may_be_of_this_machine(own.host)) return;
  log.warning(own.host, ", which the cluster calls ", task.job, ":", task.task,
              " by, is not an address of this machine; unless it is forwarded here, peers won't ",
              "find this task");
}

}  // namespace

Status Server::Running::stop(Status why) {
  MutexLock lock(mutex_);
  if (is_stopping_) {
    while (!stopped_) changed_.wait(mutex_);
    return *stopped_;
  }
  is_stopping_ = true;
  mutex_.unlock();
  Status status =
      end(why.ok() ? unavailable(facts.name.to_string(), " at ", facts.address, " has been stopped")
                   : std::move(why));
  if (log.takes(LogLevel::debug))
    log.debug("everything on its runtime has counted: ",
              facts.runtime->host().metrics.snapshot().to_string());
  mutex_.lock();
  stopped_ = status;
  changed_.notify_all();
  return status;
}

bool Server::Running::join(std::optional<Clock::Time> deadline) {
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (!deadline) {
      changed_.wait(mutex_);
    } else if (!changed_.wait_until(mutex_, *deadline) && !stopped_) {
      return false;
    }
  }
  return true;
}

class Server::OneLife final : public Server::Running {
 public:
  OneLife(ServerFacts given, const ServerOptions& options, std::shared_ptr<Members> members)
      : Running(std::move(given)),
        members_(std::move(members)),
        peers_(transport.peers({.keepalive = options.peer_keepalive,
                                .patience = patience(*facts.runtime, options),
                                .log = &log})) {}

  ~OneLife() override {
    if (Status status = stop({}); !status.ok()) log.warning(status.to_string(), "; waiting for it");
    // The services must outlive calls that are still being handled.
    serving_.reset();
  }

  Status serve(const ServerOptions& options, ListeningSocket socket) {
    LocalTaskOptions task_options;
    task_options.task = facts.name;
    task_options.members = members_;
    task_options.cpu_devices = options.cpu_devices;
    task_options.default_options = options.default_options;
    task_options.report = options.report;
    task_options.log_name = short_name(facts.name);
    task_options.state_folder =
        options.state_folder.empty() ? facts.runtime->state_folder() : options.state_folder;
    task_options.state_keeps = options.state_keeps.value_or(facts.runtime->state_keeps());
    task_options.follower = options.follower;
    MR_ASSIGN(task_, LocalTask::create(facts.runtime, std::move(task_options), peers_.get()));
    Services services{.ops = facts.runtime->ops(),
                      .master = {task_, &task_->master()},
                      .worker = {task_, &task_->worker()},
                      .standby = options.standby};
    MR_ASSIGN(serving_, transport.serve(std::move(services), {.address = facts.address,
                                                              .socket = std::move(socket),
                                                              .keepalive = options.client_keepalive,
                                                              .log = &log}));
    return {};
  }

  std::shared_ptr<MasterService> master() override { return {task_, &task_->master()}; }
  TaskDescription describe() const override { return task_->describe(); }

  void end_program(const Status& how) override {
    const TaskEnds ends = end_of(how);
    if (facts.report) facts.report->tell_end(ends);
    if (ends.how != TaskEnds::How::failed) task_->say_farewell(kFarewellPatience);
  }

 protected:
  Status end(const Status& why) override {
    if (!task_) return {};
    task_->stop(why);
    if (serving_) MR_TRY(serving_->stop(why, kStopPatience));
    if (task_->drain(kStopPatience)) return {};
    return Status(
        Code::deadline_exceeded,
        str_cat(facts.name.to_string(), " has been stopped, but something still runs on it"));
  }

 private:
  const std::shared_ptr<Members> members_;
  const wire::ProtobufLog protobuf_log_{facts.runtime->host().in_the_name_of(log)};
  const std::unique_ptr<WorkerDirectory> peers_;
  std::shared_ptr<LocalTask> task_;   // set by serve()
  std::unique_ptr<Serving> serving_;  // set by serve(); handlers use the task
};

Result<std::unique_ptr<Server>> Server::start(ServerOptions options,
                                              std::shared_ptr<Runtime> runtime) {
  if (!runtime) runtime = Runtime::create();
  MR_TRY(need_descriptors(kDescriptorsOfServer));
  MR_ASSIGN(Witnessed witnessed, take_witness(options, runtime));
  if (witnessed.is_side) {
    MR_ASSIGN(auto lives,
              Lives::start(std::move(options), std::move(witnessed), std::move(runtime)));
    return std::unique_ptr<Server>(new Server(std::move(lives)));
  }
  const TaskName task{options.job, 0, options.task};
  MR_ASSIGN(std::string address, own_address(options, task));
  MR_ASSIGN(HostPort own, HostPort::parse(address));
  MR_ASSIGN(ListeningSocket socket, listen(options, own));
  own.port = socket.port();
  address = own.to_string();
  MR_TRY(runtime->start_threads());
  MR_ASSIGN(const auto members, settle(options, task, address, *runtime));
  ServerFacts facts{.runtime = std::move(runtime),
                    .name = task,
                    .cluster = witnessed.watch ? std::move(witnessed.cluster) : options.cluster,
                    .address = std::move(address),
                    .bound_address = socket.address(),
                    .report = options.report,
                    .watch = std::move(witnessed.watch)};
  auto running = std::make_unique<OneLife>(std::move(facts), options, members);
  if (options.report) options.report->set_task(task);
  MR_TRY(running->serve(options, std::move(socket)));
  if (options.report) options.report->tell(TaskServes{running->facts.address});
  tell_address(running->log, task, options, own, running->facts.bound_address);
  return std::unique_ptr<Server>(new Server(std::move(running)));
}

Server::Server(std::unique_ptr<Running> running) : running_(std::move(running)) {}
Server::~Server() = default;

std::string Server::target() const {
  return str_cat(running_->transport.scheme(), "://", running_->facts.address);
}
const std::string& Server::address() const { return running_->facts.address; }
const std::string& Server::bound_address() const { return running_->facts.bound_address; }
const TaskName& Server::task() const { return running_->facts.name; }
const ClusterSpec& Server::cluster() const { return running_->facts.cluster; }
const std::shared_ptr<Runtime>& Server::runtime() const { return running_->facts.runtime; }
std::shared_ptr<MasterService> Server::master() { return running_->master(); }
Status Server::failure() const { return running_->failure(); }
bool Server::join(std::optional<Clock::Time> deadline) { return running_->join(deadline); }
TaskDescription Server::describe() const { return running_->describe(); }
void Server::end(const Status& how) { running_->end_program(how); }
Status Server::stop(Status why) { return running_->stop(std::move(why)); }

}  // namespace millrace
