// Fleet: the tasks of a simulated cluster, each with the master and the worker of the real program,
// and what may happen to them.
//
// A task may live several times, one after the other, at the same address. Owned by whoever tells
// the story; one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/network.h"
#include "tests/simulation/peers.h"
#include "tests/simulation/serving.h"
#include "tests/simulation/stage.h"

#include "millrace/cluster/departures.h"
#include "millrace/master/master.h"
#include "millrace/worker/worker.h"

namespace millrace::simulation {

// One life of a task.
class SimTask {
 public:
  struct Place {
    World& world;
    Network& network;
    const OpRegistry& ops;
    const ClusterSpec& cluster;
    Stage* stage;  // null: nobody watches
    HearLog hear;
    size_t kept_steps;      // by a session of its master
    size_t most_callables;  // of it
  };
  SimTask(const Place& place, TaskName task, std::string site, uint64_t seed);
  ~SimTask();

  Process& process() { return process_; }
  Master& master() { return *master_; }
  Worker& worker() { return *worker_; }
  Departures& departures() { return departures_; }
  Serving& serving() { return *serving_; }

  // Ends everything with `why`, as a server does that is told to go; end() is still to come.
  void stop(const Status& why);
  // The process is no more. What is left over although it had been told to end; empty: nothing.
  std::string end();
  // What it has of others, for whoever looks whether something is left: "sessions=1 steps=2".
  std::string leftovers() const;

 private:
  class Directory;

  Process process_;
  Peers peers_;
  std::unique_ptr<Directory> directory_;
  Departures departures_;
  std::shared_ptr<Worker> worker_;
  std::unique_ptr<Master> master_;
  std::shared_ptr<Serving> serving_;
};

class Fleet {
 public:
  struct Options {
    uint64_t seed = 1;
    Order order = Order::first_come;
    Delays delays = {};
    size_t kept_steps = 2'000;
    size_t most_callables = 100'000;
    // Gets every line of a transcript; empty: none is written.
    Stage::Tell tell = {};
  };
  Fleet(const OpRegistry& ops, Options options);
  ~Fleet();

  World& world() { return world_; }
  Network& network() { return network_; }
  Stage* stage() { return stage_.get(); }
  HearLog hear() const { return hear_; }

  // `count` tasks of one job, at "job:index" (at "job" if it is the only one). Before start().
  void add_job(const std::string& job, int count);
  const std::vector<std::string>& sites() const { return sites_; }
  // "/job:worker/replica:0/task:1"
  std::string full_name(const std::string& site) const { return names_.at(site).to_string(); }
  std::string address(const std::string& site) const { return str_cat(site_host(site), ":1"); }

  void start(const std::string& site);
  // Null while it is not there.
  SimTask* task(const std::string& site);
  // At once, without a word. What was left over then; empty: nothing.
  std::string kill(const std::string& site);
  // As a server that is told to go: what it does is ended and answered first.
  std::string stop(const std::string& site, const Status& why);
  void freeze(const std::string& site);
  void thaw(const std::string& site);

  uint64_t seed_for(const std::string& who);

 private:
  static std::string site_host(std::string site);

  const OpRegistry& ops_;
  const uint64_t seed_;
  const size_t kept_steps_;
  const size_t most_callables_;
  World world_;
  Network network_;
  std::unique_ptr<Stage> stage_;
  HearLog hear_;
  ClusterSpec cluster_;
  std::vector<std::string> sites_;
  std::map<std::string, TaskName> names_;
  std::map<std::string, int> lives_;
  std::map<std::string, std::unique_ptr<SimTask>> tasks_;
};

}  // namespace millrace::simulation
