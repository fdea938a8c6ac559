#include "millrace/mapreduce/run.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "millrace/cluster/environment.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/mapreduce/alone.h"
#include "millrace/mapreduce/owner.h"
#include "millrace/mapreduce/roles.h"
#include "millrace/mapreduce/worker.h"

namespace millrace::mapreduce {

namespace {

std::string folder_for_spills(const Environment& environment) {
  const char* const told = environment("TMPDIR");
  return told == nullptr || *told == '\0' ? "/tmp" : told;
}

}  // namespace

Task::Task(std::shared_ptr<Runtime> runtime, std::string spill)
    : runtime_(std::move(runtime)), spill_(std::move(spill)) {}

Result<std::unique_ptr<Task>> Task::create(const Environment& environment,
                                           std::shared_ptr<Runtime> runtime) {
  if (!runtime) runtime = Runtime::create();
  std::unique_ptr<Task> task(new Task(std::move(runtime), folder_for_spills(environment)));
  MR_ASSIGN(const TfConfig told,
            TfConfig::from_environment(environment(kTaskVariable)).with(kTaskVariable));
  if (told.cluster.empty()) return task;
  MR_ASSIGN(ServerOptions options, launched_task(environment));
  task->cluster_ = options.cluster;
  MR_TRY(check_cluster(options.cluster, options.job));
  // The owner's book is gone with it: queues of its last life would be of work that nobody knows.
  options.state_keeps = Keep::asked;
  MR_ASSIGN(task->server_, Server::start(std::move(options), task->runtime_));
  return task;
}

Result<Made> Task::run(const Job& job) {
  MR_TRY(job.check());
  if (job.output.queue()) MR_TRY(job.output.queue()->check_place(cluster_));
  const std::string& spill = job.spill.empty() ? spill_ : job.spill;
  if (server_ == nullptr) {
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    const int threads = job.threads != 0 ? job.threads : std::max(processors, 1);
    std::unique_ptr<BesideQueue> queue;
    if (job.output.queue()) {
      MR_ASSIGN(queue, BesideQueue::create(runtime_, *job.output.queue()));
    }
    return run_alone(job, runtime_->host(), threads, spill, queue.get());
  }
  if (server_->task().job == kOwnerJob) return own_on_cluster(job, *server_, cluster_);
  MR_TRY(work_on_cluster(job, *server_, spill));
  return Made();
}

void Task::end(const Status& how) {
  if (server_ != nullptr) server_->end(how);
}

Result<Made> run(const Job& job, const Environment& environment) {
  MR_ASSIGN(const auto task, Task::create(environment));
  Result<Made> made = task->run(job);
  task->end(made.status());
  return made;
}

int as_program(const Job& job) {
  const Result<Made> made = run(job);
  if (made.ok()) return 0;
  std::fprintf(stderr, "%s\n", made.status().to_string().c_str());
  return 1;
}

}  // namespace millrace::mapreduce
