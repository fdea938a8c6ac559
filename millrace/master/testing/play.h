// A master and its workers as transcripts: the commands of a test on one side, what the master says
// to whom on the other. Workers are played by the test; everything runs on its thread.
//
//   tasks a b              /job:a is the master's own task; all are up
//   down b | up b          b does not answer GetStatus | answers it now
//   ended b 17             b says farewell, in this life (17 is the one that answers)
//   farewell               the master's own task says it
//   hold b RegisterGraph   b keeps such a call until `answer`
//   graph x = Const(1) @ /job:b
//   create [filter]        creates a session on the graph so far
//   extend 0               adds the nodes since then, expecting this version
//   run x:0 !target        runs a step (any number at once)
//   answer b RunGraph OK 7 | answer b RunGraph NOT_FOUND no file
//   cancel | close | reset | stop
//   setup x:0 <- f:0       partial run;  leg f:0=3 -> x:0
//   call f:0=3 -> x:0      makes a callable and runs it;  again 1 f:0=4  runs the first one
//   release 1              releases the first callable
//   keep 2                 the master keeps so many steps; before anything but `tasks`
#pragma once

#include <deque>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/master/master.h"

namespace millrace::testing {

// Runs what is posted when the test says so.
class TestRunner final : public Runner {
 public:
  void post(Task task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    posted_.notify_all();
  }
  void run_all() {
    while (run_one()) {
    }
  }
  // For work that a timer's thread posts.
  void wait_and_run() {
    {
      MutexLock lock(mutex_);
      while (tasks_.empty()) posted_.wait(mutex_);
    }
    run_all();
  }

 private:
  bool run_one() {
    Task task;
    {
      MutexLock lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }
  Mutex mutex_;
  Condition posted_;
  std::deque<Task> tasks_ MR_GUARDED_BY(mutex_);
};

struct Play;

class PlayedWorker final : public WorkerService {
 public:
  PlayedWorker(Play& play, std::string name) : play_(play), name_(std::move(name)) {}

  void get_status(WhenDown, Call call, Done<GetStatusReply> done) override;
  void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) override;
  void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) override;
  void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) override;
  void deregister_graph(DeregisterGraphRequest, Call, Done<void>) override;
  void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) override;
  void cleanup_graph(CleanupGraphRequest, Call, Done<void>) override;
  void cleanup_all(CleanupAllRequest, Call, Done<void>) override;
  void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) override {}
  void farewell(EndedTask, Call, Done<void>) override;

  bool is_down = false;
  std::map<std::string, bool> held;

 private:
  // Keeps the answer for `answer`, or gives it at once.
  template <class T>
  void answer(const std::string& method, Call call, Done<T> done, Outcome<T> outcome);

  Play& play_;
  const std::string name_;
  int graphs_ = 0;
};

struct Play final : WorkerDirectory {
  struct Held {
    std::string worker, method;
    std::function<void(const Status&, float)> answer;
    Cancellation::Registration registration = {};
  };

  Play();

  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task, std::string_view) override {
    const auto found = workers.find(task.job);
    if (found == workers.end()) return not_found("no worker ", task.job);
    return std::shared_ptr<WorkerService>(found->second);
  }

  void say(const std::string& text) { out << text << '\n'; }
  int step(int64_t id) {
    return steps.try_emplace(id, static_cast<int>(steps.size()) + 1).first->second;
  }

  void start_master() {
    if (master) return;
    departures.emplace(cluster);
    master = std::make_unique<Master>(MasterOptions{.own_task = {"a", 0, 0},
                                                    .cluster = cluster,
                                                    .ops = ops,
                                                    .host = host,
                                                    .workers = *this,
                                                    .departures = &*departures,
                                                    .kept_steps = kept_steps,
                                                    .reminder_interval = reminder_interval,
                                                    .parts_patience = std::chrono::hours(1)});
  }

  void answer(const std::string& name, const std::string& method, const Status& status,
              float value) {
    for (auto held = calls.begin(); held != calls.end(); ++held) {
      if (held->worker != name || held->method != method) continue;
      auto answer = std::move(held->answer);
      calls.erase(held);
      answer(status, value);
      return;
    }
    FAIL("nothing to answer: " << name << " " << method);
  }

  template <class Reply>
  Done<Reply> client(const std::string& what) {
    return Done<Reply>([this, what](Outcome<Reply> outcome) {
      if constexpr (std::is_void_v<Reply>) {
        say(str_cat("client <- ", what, " ", outcome.to_string()));
      } else {
        std::string text = outcome.status().to_string();
        if constexpr (requires { outcome->tensors; }) {
          if (outcome.ok())
            for (const Tensor& tensor : outcome->tensors)
              str_append(&text, " ", tensor.to_string());
        }
        if constexpr (requires { outcome->partial_run_handle; })
          if (outcome.ok()) partial_handle = outcome->partial_run_handle;
        if constexpr (requires { outcome->session_handle; })
          if (outcome.ok()) handle = outcome->session_handle;
        if constexpr (requires { outcome->handle; })
          if (outcome.ok()) callable = outcome->handle;
        say(str_cat("client <- ", what, " ", text));
      }
    });
  }

  OpRegistry ops;
  SeededRandom random;
  TimerQueue timers;
  TestRunner pool;
  KeptLines kept;
  Log log{kept};
  Metrics metrics;
  const Host host{Clock::real(), timers, random, pool, pool, pool, log, metrics};
  ClusterSpec cluster;
  std::optional<Departures> departures;  // from when the master is there
  std::map<std::string, std::shared_ptr<PlayedWorker>> workers;
  std::vector<Held> calls;
  std::map<int64_t, int> steps;
  std::ostringstream out;
  std::chrono::milliseconds reminder_interval{10'000};
  size_t kept_steps = 100;
  Graph graph;
  size_t num_sent = 0;
  std::string handle, partial_handle;
  int64_t callable = 0;
  Cancellation cancellation;
  std::unique_ptr<Master> master;
};

// Does what one line says: its verb, and the words after it.
void perform(Play& play, std::istringstream& words, const std::string& verb);

// What the master said while the script was performed.
std::string run(const std::string& script);

}  // namespace millrace::testing
