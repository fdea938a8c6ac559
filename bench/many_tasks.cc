// A step that adds a scalar from each of N tasks, all on this machine: what a task costs if it has
// many neighbours. Counted are the processor time and the context switches of the servers, which
// say more on few processors than the time that passes. The growth is that of a step's processor
// time from the fewest tasks to the most: 1 if a task costs the same whatever the others do.
//
//   bench_many_tasks [MILLRACE [TASKS]]     of that program (the one beside this) and up to so many
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/must.h"

#include "millrace/millrace.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace::bench {
namespace {

constexpr int kFewest = 16;
constexpr int kRounds = 5;
// Each sample is of so many parts of steps.
constexpr int kParts = 2048;

// What processes have used since they began.
struct Used {
  double processor_us = 0;
  double switches = 0;
};

Used used_by(int pid) {
  Used used;
  const std::filesystem::path threads = str_cat("/proc/", pid, "/task");
  for (const auto& thread : std::filesystem::directory_iterator(threads)) {
    double nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;
    used.processor_us += nanoseconds / 1e3;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.find("voluntary_ctxt_switches:") == std::string::npos) continue;
      used.switches += std::strtod(line.c_str() + line.find(':') + 1, nullptr);
    }
  }
  return used;
}

class Cluster {
 public:
  Cluster(const std::string& millrace, int tasks) {
    std::string hosts;
    {
      std::vector<ListeningSocket> held;  // so that no port is given out twice
      for (int i = 0; i < tasks; ++i) {
        held.push_back(must(ListeningSocket::bind("127.0.0.1", 0)));
        str_append(&hosts, i == 0 ? "" : ",", "127.0.0.1:", held.back().port());
      }
    }
    target_ = str_cat("grpc://", hosts.substr(0, hosts.find(',')));
    for (int i = 0; i < tasks; ++i) {
      servers_.push_back(std::make_unique<ChildProcess>(
          std::vector<std::string>{millrace, "serve", str_cat("--worker_hosts=", hosts),
                                   "--job_name=worker", str_cat("--task_index=", i)}));
    }
  }
  const std::string& target() const { return target_; }
  Used used() const {
    Used all;
    for (const auto& server : servers_) {
      const Used one = used_by(server->pid());
      all.processor_us += one.processor_us;
      all.switches += one.switches;
    }
    return all;
  }

 private:
  std::string target_;
  std::vector<std::unique_ptr<ChildProcess>> servers_;
};

// Per task and step.
struct Costs {
  Samples processor_us, switches, wall_us;
};

void measure(const std::string& millrace, int most) {
  const Cluster cluster(millrace, most);
  const auto runtime = Runtime::create();
  GraphBuilder builder(runtime->ops());
  const Scope root = builder.root();
  std::vector<Output> values;
  std::vector<std::string> starts;
  for (int i = 0; i < most; ++i) {
    const Scope there = root.device(str_cat("/job:worker/task:", i));
    const Output held = ops::variable_v2(there, PartialShape::scalar(), DType::f32);
    starts.push_back(ops::assign(there, held, 1.0f).name());
    values.push_back(ops::identity(there, held));
  }
  std::map<int, std::string> sums;
  for (int count = kFewest; count <= most; count *= 2) {
    const InputList some(values.begin(), values.begin() + count);
    sums[count] = ops::add_n(root.device("/job:worker/task:0"), some).name();
  }
  const auto session = must(Session::create(cluster.target(), {}, runtime));
  must(session->extend(builder));
  (void)must(session->run({}, starts));

  std::map<int, Costs> costs;
  Samples growth;
  // All figures come at the end, and bench/run waits for the first one no longer than six may take.
  for (Rounds rounds(kRounds, 4 * figure_seconds()); rounds.next();) {
    for (const auto& [count, name] : sums) {
      const std::vector<std::string> sum = {name};
      const int steps = std::max(1, kParts / count);
      const Used before = cluster.used();
      const double took = seconds([&] {
        for (int i = 0; i < steps; ++i) (void)must(session->run({}, sum));
      });
      const Used after = cluster.used();
      if (!rounds.is_counted()) continue;
      const double parts = steps * static_cast<double>(count);
      Costs& cost = costs[count];
      cost.processor_us.values.push_back((after.processor_us - before.processor_us) / parts);
      cost.switches.values.push_back((after.switches - before.switches) / parts);
      cost.wall_us.values.push_back(took * 1e6 / parts);
    }
    if (!rounds.is_counted()) continue;
    const double least = costs.begin()->second.processor_us.values.back();
    const double last = costs.rbegin()->second.processor_us.values.back();
    growth.values.push_back(1 +
                            std::log(last / least) / std::log(static_cast<double>(most) / kFewest));
  }
  for (const auto& [count, cost] : costs) {
    const std::string name = str_cat("step over ", count, " tasks, per task");
    report({.name = name + ": processor time", .unit = "us", .samples = cost.processor_us});
    report({.name = name + ": context switches", .unit = "", .samples = cost.switches});
    report({.name = name + ": time", .unit = "us", .samples = cost.wall_us});
  }
  report({.name = str_cat("growth of a step's processor time, ", kFewest, " to ", most, " tasks"),
          .unit = "exponent",
          .samples = growth,
          .goal = 1.1});
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  setenv("MILLRACE_LOG", "warning", 0);
  const std::filesystem::path own = millrace::bench::own_path();
  const std::string millrace = argc > 1 ? argv[1] : (own.parent_path() / "millrace").string();
  const int tasks = argc > 2 ? std::atoi(argv[2]) : 128;
  if (tasks < 2 * millrace::bench::kFewest) return 2;
  millrace::bench::measure(millrace, tasks);
}
