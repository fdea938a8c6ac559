// LocalTask: one task of a cluster in this process: its worker with its devices, and its master.
// Has no port: Server gives it one, and a session without a target has one to itself.
//
// Owned by shared_ptr: sessions on it keep it alive. Any thread.
#pragma once

#include <memory>
#include <string>

#include "millrace/cluster/inspection.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/task_report.h"
#include "millrace/io/journal.h"
#include "millrace/master/master.h"
#include "millrace/master/once_master.h"
#include "millrace/op/durable.h"
#include "millrace/session/runtime.h"
#include "millrace/worker/worker.h"

namespace millrace {

struct LocalTaskOptions {
  TaskName task = {};
  std::shared_ptr<Members> members = nullptr;  // has `task`, and knows where it is
  int cpu_devices = 1;
  std::shared_ptr<TaskReport> report = nullptr;  // where its master tells what it waits for
  SessionOptions default_options = {};           // what sessions get that ask for nothing else
  std::string log_name = {};                     // in front of its log lines; empty: nothing
  // Where its queues and variables are kept, so that they outlive the process: in a folder of the
  // task's own below this one (docs/design/durable.md). Empty: nowhere.
  std::string state_folder = {};
  Keep state_keeps = Keep::all;  // which of them, if there is a folder
  // Who has all that is kept there, too (docs/design/standby.md); null: nobody.
  std::shared_ptr<io::JournalFollower> follower = nullptr;
};

class LocalTask final : public Inspected {
 public:
  // `elsewhere` reaches the other tasks and outlives this; null if there are none.
  // Errors: NOT_FOUND for a task that is not in the cluster, UNAVAILABLE for one whose own address
  // is not known; INVALID_ARGUMENT for cpu_devices; as KeptState::open() for state_folder.
  static Result<std::shared_ptr<LocalTask>> create(std::shared_ptr<Runtime> runtime,
                                                   LocalTaskOptions options,
                                                   WorkerDirectory* elsewhere);
  // The only task of its cluster.
  static Result<std::shared_ptr<LocalTask>> alone(std::shared_ptr<Runtime> runtime,
                                                  int cpu_devices = 1);
  // Stops, and waits until all that was under way has ended. Not on a thread of the runtime's pool.
  ~LocalTask() override;

  TaskDescription describe() const override;

  // What clients talk to: the task's master, or what has its sessions count once.
  MasterService& master();
  Worker& worker() { return *worker_; }

  // Tells the other tasks that this one has ended well, so that none waits for it. Blocks until
  // they have heard, or for `patience`.
  void say_farewell(Clock::Duration patience);

  // Ends everything under way with `why` and refuses more. Does not wait.
  void stop(const Status& why);
  // True once all that was under way when stop() was called has ended; false if that takes longer.
  bool drain(Clock::Duration patience);

 private:
  class Directory;
  LocalTask(std::shared_ptr<Runtime> runtime, LocalTaskOptions options, std::string address,
            WorkerDirectory* elsewhere, std::shared_ptr<KeptState> kept);

  const std::shared_ptr<Runtime> runtime_;
  const std::shared_ptr<io::JournalFollower> follower_;  // outlives the state that the worker has
  const Log log_;
  const Host host_;  // in the task's name
  const TaskName name_;
  const std::unique_ptr<Directory> directory_;
  Departures departures_;
  std::shared_ptr<Worker> worker_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<OnceMaster> once_;  // in front of it; null: sessions do not count once
};

}  // namespace millrace
