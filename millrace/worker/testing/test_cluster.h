// Workers of one process that are each other's peers, for tests. Not part of any library.
//
//   TestCluster cluster(2);
//   const std::string g = cluster.add_graph(0, "c = Const(2) -> $0");
//   CHECK(cluster.run(0, g, {.fetches = {"c"}}).value("c") == number(2));
//
// In texts "$0" is CPU:0 of task 0, "$1.1" CPU:1 of task 1. Nodes without a device are on CPU:0 of
// the task that gets the graph. `feeds` and `fetches` of add_graph become client-terminated
// transfers, as a master would add them; channel() writes those between devices. Ops: those of
// engine/testing/test_lab.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/departures.h"
#include "millrace/engine/testing/test_lab.h"
#include "millrace/worker/worker.h"

namespace millrace::testing {

class TestCluster {
 public:
  explicit TestCluster(int tasks = 1, int cpus = 1);
  ~TestCluster();

  Worker& worker(int task) { return *workers_.at(static_cast<size_t>(task)); }
  // Takes the task's worker away; its peers see another one from now on.
  void restart(int task);
  static std::string device(int task, int cpu = 0);
  // What stands in the parentheses of _Send and _Recv for a value from one device to another.
  std::string channel(const std::string& name, int from, int to, int from_cpu = 0, int to_cpu = 0);
  std::string key(const std::string& name, int from, int to, int from_cpu = 0, int to_cpu = 0);

  // Opens the session "s" on the task, once.
  void open_session(int task);
  Result<std::string> try_add_graph(int task, const std::string& text,
                                    const std::vector<std::string>& feeds = {},
                                    const std::vector<std::string>& fetches = {});
  std::string add_graph(int task, const std::string& text,
                        const std::vector<std::string>& feeds = {},
                        const std::vector<std::string>& fetches = {});

  struct Values {
    std::vector<std::pair<std::string, Tensor>> feeds = {};  // "x"
    std::vector<std::string> fetches = {};
    int64_t step = 1;
    int64_t request_id = 0;
    Trace trace = Trace::off;
    bool record_partition_graphs = false;
    enum class Leg : uint8_t { none, more, last } leg = Leg::none;
  };

  // A call that may still be running.
  class Running {
   public:
    struct Outcome {
      Status status;
      RunGraphReply reply;
      std::vector<std::string> fetches;
      const Delivery& at(const std::string& name) const;
      const Tensor& value(const std::string& name) const { return at(name).tensor; }
    };
    Outcome wait();
    bool is_done();
    Cancellation cancellation;

   private:
    friend class TestCluster;
    std::vector<std::string> fetches_;
    CallerThread caller_;
    Mutex mutex_;
    std::optional<Result<RunGraphReply>> reply_ MR_GUARDED_BY(mutex_);
  };
  RunGraphRequest request(int task, const std::string& graph, const Values& values);
  std::unique_ptr<Running> start(int task, const std::string& graph, const Values& values);
  Running::Outcome run(int task, const std::string& graph, const Values& values) {
    return start(task, graph, values)->wait();
  }

  // A RecvTensor call that may still be waiting.
  struct Receiving {
    Cancellation cancellation;
    Mutex mutex;
    Condition changed;
    std::optional<Result<RecvTensorReply>> reply MR_GUARDED_BY(mutex);
    bool is_done();
    Result<RecvTensorReply> wait();
  };
  std::unique_ptr<Receiving> receive(int task, const std::string& key, int64_t step = 1,
                                     int64_t request_id = 0);
  void cleanup(int task, int64_t step = 1);

  Lab lab;
  TestHost process;
  ClusterSpec spec;
  std::unique_ptr<Departures> departures;  // one for all

 private:
  struct Peers final : WorkerDirectory {
    TestCluster* cluster;
    explicit Peers(TestCluster* cluster) : cluster(cluster) {}
    Result<std::shared_ptr<WorkerService>> worker(const TaskName& task, std::string_view) override;
  };
  std::shared_ptr<Worker> make_worker(int task);
  std::string client_key(const std::string& name, int task);

  const int cpus_;
  Peers peers_{this};
  std::vector<std::shared_ptr<Worker>> workers_;
  std::vector<bool> has_session_;
};

// The status that an asynchronous call without a reply ends with at once.
template <class Start>
Status outcome_of(Start start) {
  Status status = internal("the call was not answered at once");
  start(Done<void>([&](Status s) { status = std::move(s); }));
  return status;
}

}  // namespace millrace::testing
