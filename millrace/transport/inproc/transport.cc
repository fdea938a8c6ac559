#include "millrace/transport/inproc/transport.h"

#include <map>
#include <string>
#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/cluster/host_port.h"

namespace millrace {

// Who is served, by address. Shared, so that what the transport made may end after it.
class InprocTransport::Tasks {
 public:
  Status add(const std::string& address, const Services& services) {
    MutexLock lock(mutex_);
    if (services_.try_emplace(address, Pointers{services.master, services.worker, services.standby})
            .second)
      return {};
    return error(Code::already_exists, "a task of this process is served at ", address, " already");
  }

  void remove(const std::string& address) {
    Pointers removed;  // goes without the lock: a service may wait for its steps
    MutexLock lock(mutex_);
    const auto found = services_.find(address);
    if (found == services_.end()) return;
    removed = std::move(found->second);
    services_.erase(found);
  }

  std::shared_ptr<MasterService> master(const std::string& address) {
    MutexLock lock(mutex_);
    const auto found = services_.find(address);
    return found == services_.end() ? nullptr : found->second.master;
  }

  std::shared_ptr<WorkerService> worker(const std::string& address) {
    MutexLock lock(mutex_);
    const auto found = services_.find(address);
    return found == services_.end() ? nullptr : found->second.worker;
  }

  std::shared_ptr<StandbyService> standby(const std::string& address) {
    MutexLock lock(mutex_);
    const auto found = services_.find(address);
    return found == services_.end() ? nullptr : found->second.standby;
  }

 private:
  struct Pointers {
    std::shared_ptr<MasterService> master;
    std::shared_ptr<WorkerService> worker;
    std::shared_ptr<StandbyService> standby;
  };

  Mutex mutex_;
  std::map<std::string, Pointers> services_ MR_GUARDED_BY(mutex_);
};

class InprocTransport::Peers final : public WorkerDirectory {
 public:
  explicit Peers(std::shared_ptr<Tasks> tasks) : tasks_(std::move(tasks)) {}

  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override {
    MR_ASSIGN(const HostPort parsed, HostPort::parse(address).with(task.to_string()));
    if (auto worker = tasks_->worker(parsed.to_string())) return worker;
    return not_found("task ", task.to_string(), " at ", address, " is not in this process");
  }

 private:
  const std::shared_ptr<Tasks> tasks_;
};

class InprocTransport::Entry final : public Serving {
 public:
  Entry(std::shared_ptr<Tasks> tasks, std::string address)
      : tasks_(std::move(tasks)), address_(std::move(address)) {}
  ~Entry() override { remove(); }

  Status stop(const Status&, Clock::Duration) override {
    remove();
    return {};
  }

 private:
  // Once: the address may be another task's afterwards.
  void remove() {
    if (const auto tasks = std::exchange(tasks_, nullptr)) tasks->remove(address_);
  }

  std::shared_ptr<Tasks> tasks_;  // null: stopped
  const std::string address_;
};

InprocTransport::InprocTransport() : tasks_(std::make_shared<Tasks>()) {}
InprocTransport::~InprocTransport() = default;

Result<std::shared_ptr<MasterService>> InprocTransport::dial(std::string_view target,
                                                             const PeerPatience&) {
  const std::string prefix = str_cat(scheme(), "://");
  if (!target.starts_with(prefix))
    return invalid("the target '", target, "' has not the form ", prefix, "host:port");
  MR_ASSIGN(
      const HostPort address,
      HostPort::parse(target.substr(prefix.size())).with(str_cat("the target '", target, "'")));
  if (auto master = tasks_->master(address.to_string())) return master;
  return not_found("no task of this process is served at '", target, "'");
}

Result<std::shared_ptr<StandbyService>> InprocTransport::standby(std::string_view address,
                                                                 const PeerPatience&) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(address));
  if (auto standby = tasks_->standby(parsed.to_string())) return standby;
  return not_found("no task of this process is a witness or holds a state at ", address);
}

std::unique_ptr<WorkerDirectory> InprocTransport::peers(const PeerOptions&) {
  return std::make_unique<Peers>(tasks_);
}

Result<std::unique_ptr<Serving>> InprocTransport::serve(Services services, ServeOptions options) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(options.address));
  std::string address = parsed.to_string();
  MR_TRY(tasks_->add(address, services));
  return std::make_unique<Entry>(tasks_, std::move(address));
}

}  // namespace millrace
