// run(): makes a MapReduce, alone or as one task of a cluster.
//
//   #include <millrace/millrace.h>
//   using namespace millrace;
//
//   void words(std::string_view line, mapreduce::Pairs& pairs) {
//     for (std::string_view word : mapreduce::words_of(line)) pairs.add(word, 1);
//   }
//   int main(int, char** argv) {
//     return mapreduce::as_program(
//         {.input = argv[1], .map = words, .reduce = mapreduce::sum(), .output = argv[2]});
//   }
//
// Every task of a cluster runs the same lines; TF_CONFIG says what it does (roles.h). Without
// TF_CONFIG the process does all of it, by threads. docs/design/mapreduce.md tells what goes where,
// and what is guaranteed.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "millrace/mapreduce/job.h"
#include "millrace/mapreduce/words_of.h"
#include "millrace/session/launched_task.h"
#include "millrace/session/runtime.h"
#include "millrace/session/server.h"

namespace millrace::mapreduce {

// The task that a program is, for one job after the other. One thread.
class Task {
 public:
  // Errors: those of launched_task() and of Server::start(); INVALID_ARGUMENT for a cluster that
  // can't make a job (roles.h). `runtime` null: one of its own.
  static Result<std::unique_ptr<Task>> create(const Environment& environment = std::getenv,
                                              std::shared_ptr<Runtime> runtime = nullptr);

  // Makes a job. All tasks make the same ones in the same order, with names of their own
  // (Job::name); one that takes work of a job finds what the jobs before have published.
  // Errors: INVALID_ARGUMENT for a job that makes no sense; on the task that publishes, why it
  // can't be done, and nothing is published then; on others, why this task can't go on.
  Result<Made> run(const Job& job);

  // The program is over, with this status. Tells whoever started it, and the other tasks.
  void end(const Status& how);

 private:
  Task(std::shared_ptr<Runtime> runtime, std::string spill);

  const std::shared_ptr<Runtime> runtime_;
  const std::string spill_;  // where jobs spill that say nothing
  ClusterSpec cluster_;
  std::unique_ptr<Server> server_;  // none: alone
};

// Makes one job: create(), run() and end().
Result<Made> run(const Job& job, const Environment& environment = std::getenv);

// The same as a program: an error is said on standard error, and is exit code 1; else it is 0.
int as_program(const Job& job);

}  // namespace millrace::mapreduce
