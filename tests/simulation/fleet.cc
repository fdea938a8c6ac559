#include "tests/simulation/fleet.h"

#include <algorithm>
#include <utility>

#include "millrace/base/hash.h"

namespace millrace::simulation {

// The task's own worker by pointer, others through the network.
class SimTask::Directory final : public WorkerDirectory {
 public:
  Directory(TaskName task, std::string site, Peers& peers, Stage* stage)
      : task_(std::move(task)), site_(std::move(site)), peers_(peers), stage_(stage) {}

  void set_own(std::shared_ptr<WorkerService> worker) { own_ = std::move(worker); }

  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override {
    const std::string there(address.substr(0, address.find(':')));
    if (task != task_) {
      MR_ASSIGN(auto worker, peers_.worker(task, address));
      return watched(there_name(task, there), std::move(worker));
    }
    if (own_) return watched(site_, own_);
    return not_found("task ", task.to_string(), " at ", address, " has ended");
  }

 private:
  static std::string there_name(const TaskName& task, const std::string& host) {
    const std::string numbered = str_cat(task.job, "-", task.task);
    return host == numbered ? str_cat(task.job, ":", task.task) : task.job;
  }
  std::shared_ptr<WorkerService> watched(const std::string& to,
                                         std::shared_ptr<WorkerService> worker) {
    return stage_ == nullptr ? worker : stage_->watch(site_, to, std::move(worker));
  }

  const TaskName task_;
  const std::string site_;
  Peers& peers_;
  Stage* const stage_;
  std::shared_ptr<WorkerService> own_;
};

SimTask::SimTask(const Place& place, TaskName task, std::string site, uint64_t seed)
    : process_(place.world, place.network, site, seed, place.hear),
      peers_(process_),
      directory_(std::make_unique<Directory>(task, site, peers_, place.stage)),
      departures_(place.cluster.tasks()) {
  const auto members = constant_members(place.cluster);
  worker_ = std::make_shared<Worker>(WorkerOptions{.task = task,
                                                   .members = members,
                                                   .host = process_.host(),
                                                   .peers = *directory_,
                                                   .departures = &departures_});
  directory_->set_own(worker_);
  const std::string address = place.cluster.address(task).value();
  master_ = std::make_unique<Master>(MasterOptions{.own_task = std::move(task),
                                                   .members = members,
                                                   .ops = place.ops,
                                                   .host = process_.host(),
                                                   .workers = *directory_,
                                                   .departures = &departures_,
                                                   .kept_steps = place.kept_steps,
                                                   .most_callables = place.most_callables});
  serving_ = std::make_shared<Serving>(process_, address, *master_, *worker_, place.ops);
  serving_->start();
}

SimTask::~SimTask() { (void)end(); }

void SimTask::stop(const Status& why) {
  // The master first: its sessions end by themselves, and not because their worker fails.
  master_->stop(why);
  worker_->stop(why);
  serving_->stop(why);
}

std::string SimTask::end() {
  if (!master_) return {};
  process_.fall_silent();
  serving_->close();
  peers_.abandon();
  stop(unavailable("the process was killed"));
  peers_.abandon();
  process_.actor().run_alone();
  std::string left = leftovers();
  if (left.empty()) {
    serving_.reset();
    master_.reset();
    directory_->set_own(nullptr);
    worker_.reset();
  } else {
    // Waiting for it would take for ever.
    (void)master_.release();
    (void)new std::shared_ptr<Worker>(std::move(worker_));
  }
  return left;
}

std::string SimTask::leftovers() const {
  const auto master = master_->counts();
  const auto worker = worker_->counts();
  std::string text;
  const auto tell = [&](std::string_view what, size_t count) {
    if (count > 0) str_append(&text, text.empty() ? "" : " ", what, "=", count);
  };
  tell("sessions", master.sessions);
  tell("under way at the master", master.under_way);
  tell("worker sessions", worker.sessions);
  tell("graphs", worker.graphs);
  tell("steps", worker.steps);
  tell("partial steps", worker.partial_steps);
  tell("under way at the worker", worker.under_way);
  tell("calls made", peers_.num_calls());
  tell("calls taken", serving_->num_calls());
  return text;
}

// ---- Fleet
// ---------------------------------------------------------------------------------------

Fleet::Fleet(const OpRegistry& ops, Options options)
    : ops_(ops),
      seed_(options.seed),
      kept_steps_(options.kept_steps),
      most_callables_(options.most_callables),
      world_(options.seed, options.order),
      network_(world_, options.delays) {
  if (!options.tell) return;
  stage_ = std::make_unique<Stage>(world_, std::move(options.tell));
  hear_ = [stage = stage_.get()](LogLevel, std::string_view who, std::string_view text) {
    stage->say(str_cat(who, " logs: ", text));
  };
}

Fleet::~Fleet() {
  if (stage_) stage_->release_all();
}

std::string Fleet::site_host(std::string site) {
  std::ranges::replace(site, ':', '-');
  return site;
}

void Fleet::add_job(const std::string& job, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string site = count == 1 ? job : str_cat(job, ":", i);
    sites_.push_back(site);
    names_[site] = {job, 0, i};
    // A cluster that can't be is a mistake of the story, and shows as soon as a task starts.
    (void)cluster_.add_task(job, i, address(site));
  }
}

uint64_t Fleet::seed_for(const std::string& who) { return murmur64(str_cat(seed_, "/", who)); }

void Fleet::start(const std::string& site) {
  const std::string life = str_cat(site, "/", ++lives_[site]);
  auto task =
      std::make_unique<SimTask>(SimTask::Place{world_, network_, ops_, cluster_, stage_.get(),
                                               hear_, kept_steps_, most_callables_},
                                names_.at(site), site, seed_for(life));
  if (stage_) stage_->name(std::to_string(task->worker().incarnation()), life);
  tasks_[site] = std::move(task);
}

SimTask* Fleet::task(const std::string& site) {
  const auto found = tasks_.find(site);
  return found == tasks_.end() ? nullptr : found->second.get();
}

std::string Fleet::kill(const std::string& site) {
  const auto found = tasks_.find(site);
  if (found == tasks_.end()) return {};
  network_.thawed(site);
  // What the process still does nobody sees any more.
  if (stage_) stage_->mute();
  std::string left = found->second->end();
  tasks_.erase(found);
  if (stage_) stage_->unmute();
  return left;
}

std::string Fleet::stop(const std::string& site, const Status& why) {
  SimTask* there = task(site);
  if (there == nullptr) return {};
  there->stop(why);
  world_.settle();
  return kill(site);
}

void Fleet::freeze(const std::string& site) {
  if (SimTask* there = task(site)) {
    there->process().actor().freeze();
    network_.frozen(site);
  }
}

void Fleet::thaw(const std::string& site) {
  network_.thawed(site);
  if (SimTask* there = task(site)) there->process().actor().thaw();
}

}  // namespace millrace::simulation
