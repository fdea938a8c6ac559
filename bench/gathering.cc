// 1,000 tasks that tell a launcher where they are and learn where all are, without processes and
// sockets: what the launcher computes for them (launch/gathering.h). bench/jobs_bench.py has it
// with processes.
#include "millrace/launch/gathering.h"

#include "bench/harness.h"
#include "bench/must.h"

namespace millrace {
namespace {

constexpr int kTasks = 1000;

void gather() {
  const JobSpec job = {.roles = {{.name = "ps", .count = kTasks / 10},
                                 {.name = "worker", .count = kTasks - kTasks / 10}},
                       .command = {"train"}};
  Gathering gathering(job, "token");
  int connection = 0;
  size_t told = 0;
  for (const RoleSpec& role : job.roles)
    for (int index = 0; index < role.count; ++index, ++connection) {
      const std::string line =
          to_line(Arrival{"token",
                          {role.name, 0, index},
                          str_cat("10.0.", index / 250, ".", index % 250, ":2222")});
      for (const Gathering::Action& action : gathering.said(connection, line))
        if (const auto* tell = std::get_if<Gathering::Tell>(&action)) told += tell->line.size();
    }
  if (!gathering.complete() || told < size_t{kTasks} * kTasks)
    bench::must(internal("of ", kTasks, " tasks some did not learn where all are"));
}

}  // namespace
}  // namespace millrace

int main() {
  using namespace millrace;
  const bench::Samples samples = bench::time_batches(9, 1, gather);
  bench::report({.name = "rendezvous of 1,000 tasks, the launcher's part",
                 .unit = "s",
                 .samples = samples,
                 .goal = 2});
}
