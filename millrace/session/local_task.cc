#include "millrace/session/local_task.h"

#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/ops/state/kept_state.h"
#include "millrace/session/wait_for.h"
#include "millrace/transport/all.h"

namespace millrace {

// The task's own worker by pointer, others elsewhere. The address counts, too: in a cluster that a
// client sends, another machine may have this task's name.
class LocalTask::Directory final : public WorkerDirectory {
 public:
  Directory(TaskName task, std::string address, WorkerDirectory* elsewhere)
      : task_(std::move(task)), address_(std::move(address)), elsewhere_(elsewhere) {}

  void set_own(std::shared_ptr<WorkerService> worker) {
    MutexLock lock(mutex_);
    // What was there goes without the lock: it may wait for its steps.
    own_.swap(worker);
  }

  void let_go(std::string_view address) override {
    if (elsewhere_ != nullptr) elsewhere_->let_go(address);
  }

  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override {
    if (task == task_ && address == address_) {
      MutexLock lock(mutex_);
      if (own_) return own_;
      return not_found("task ", task.to_string(), " at ", address, " has ended");
    }
    if (elsewhere_ != nullptr) return elsewhere_->worker(task, address);
    return not_found("no way to reach ", task.to_string(), " at ", address,
                     ": this task has no connection to others");
  }

 private:
  const TaskName task_;
  const std::string address_;
  WorkerDirectory* const elsewhere_;

  Mutex mutex_;
  std::shared_ptr<WorkerService> own_ MR_GUARDED_BY(mutex_);
};

Result<std::shared_ptr<LocalTask>> LocalTask::create(std::shared_ptr<Runtime> runtime,
                                                     LocalTaskOptions options,
                                                     WorkerDirectory* elsewhere) {
  MR_ASSIGN(std::string address, options.members->address(options.task));
  if (options.cpu_devices < 1)
    return invalid("cpu_devices is ", options.cpu_devices, "; a task needs at least one");
  std::shared_ptr<KeptState> kept;
  if (!options.state_folder.empty()) {
    const std::string folder =
        str_cat(options.state_folder, "/", options.task.job, "-", options.task.task);
    MR_ASSIGN(kept, KeptState::open(runtime->host(),
                                    {.folder = folder,
                                     .default_container = options.task.job,
                                     .devices = options.cpu_devices,
                                     .keep = options.state_keeps,
                                     .answers = runtime->transports().between_tasks().answers(),
                                     .follower = options.follower.get()}));
    runtime->host()
        .log.named(options.log_name)
        .info(options.state_keeps == Keep::all ? "keeps its state" : "keeps what asks for it",
              ", and found ", kept->found_text());
  }
  return std::shared_ptr<LocalTask>(new LocalTask(std::move(runtime), std::move(options),
                                                  std::move(address), elsewhere, std::move(kept)));
}

Result<std::shared_ptr<LocalTask>> LocalTask::alone(std::shared_ptr<Runtime> runtime,
                                                    int cpu_devices) {
  LocalTaskOptions options;
  options.cpu_devices = cpu_devices;
  ClusterSpec cluster;
  MR_TRY(cluster.add_task(options.task.job, options.task.task, "localhost:0"));
  options.members = constant_members(std::move(cluster));
  return create(std::move(runtime), std::move(options), nullptr);
}

LocalTask::LocalTask(std::shared_ptr<Runtime> runtime, LocalTaskOptions options,
                     std::string address, WorkerDirectory* elsewhere,
                     std::shared_ptr<KeptState> kept)
    : runtime_(std::move(runtime)),
      follower_(std::move(options.follower)),
      log_(runtime_->host().log.named(std::move(options.log_name))),
      host_(runtime_->host().in_the_name_of(log_)),
      name_(options.task),
      directory_(std::make_unique<Directory>(options.task, std::move(address), elsewhere)),
      departures_([&] {
        std::vector<TaskName> tasks;
        for (Member& member : options.members->list()) tasks.push_back(std::move(member.task));
        return tasks;
      }()) {
  worker_ = std::make_shared<Worker>(WorkerOptions{.task = options.task,
                                                   .members = options.members,
                                                   .cpu_devices = options.cpu_devices,
                                                   .threads = options.default_options.threads,
                                                   .host = host_,
                                                   .peers = *directory_,
                                                   .departures = &departures_,
                                                   .machine = runtime_->machine(),
                                                   .kept = std::move(kept)});
  directory_->set_own(worker_);
  master_ = std::make_unique<Master>(MasterOptions{.own_task = std::move(options.task),
                                                   .members = std::move(options.members),
                                                   .ops = runtime_->ops(),
                                                   .host = host_,
                                                   .workers = *directory_,
                                                   .departures = &departures_,
                                                   .task = this,
                                                   .report = std::move(options.report),
                                                   .defaults = std::move(options.default_options)});
  if (runtime_->once().lease.count() > 0)
    once_ = std::make_unique<OnceMaster>(*master_, runtime_->ops(), host_, runtime_->once());
}

MasterService& LocalTask::master() {
  if (once_) return *once_;
  return *master_;
}

LocalTask::~LocalTask() {
  stop(cancelled("the task has been destroyed"));
  if (once_) once_->stop();
  master_.reset();  // its last answers come through what is in front of it
  directory_->set_own(nullptr);
}

TaskDescription LocalTask::describe() const {
  TaskDescription made{.task = name_.to_string(), .waits = master_->describe_waits()};
  for (const StepWaits& step : worker_->describe_waits()) made.waits.push_back(to_text(step));
  for (std::string& peer : worker_->describe_unknown_peers()) made.waits.push_back(std::move(peer));
  made.ended = departures_.list();
  return made;
}

void LocalTask::say_farewell(Clock::Duration patience) {
  WaitFor<void> wait(host_.clock);
  Call call = wait.call(nullptr, host_.clock.now() + patience);
  call.waiting = false;  // many are called at once
  master_->say_farewell(worker_->incarnation(), call, wait.done());
  (void)wait.get();
}

void LocalTask::stop(const Status& why) {
  // The master first: its sessions end by themselves, and not because their worker fails.
  master_->stop(why);
  worker_->stop(why);
}

bool LocalTask::drain(Clock::Duration patience) { return master_->drain(patience); }

}  // namespace millrace
