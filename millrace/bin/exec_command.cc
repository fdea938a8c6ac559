// Part of verbs.h: `millrace exec`.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

constexpr const char* kExecFooter =
    R"(Runs a command where a task of a submitted job runs, and ends with its exit code. On this machine: in the
task's directory, with the environment of its program. On Kubernetes: in its container, by kubectl exec. On Slurm: on its
machine, by srun --overlap, with the task's environment. On YARN: in its container, with the directory and environment of
its program, without a terminal, as long as the task runs. Jobs of `millrace run --on ssh` are not submitted; log in at
their machines.

Examples:
  millrace exec word-count map:0 --on local -- python3 -c 'import os; print(os.environ["TF_CONFIG"])'
  millrace exec digits worker:3 --on k8s -- sh
  millrace exec digits ps:0 --on slurm -- top -bn1
  millrace exec digits worker:1 --on yarn -- py-spy dump --pid 4711

Exit codes: the command's; 1 there is no such job or task, or nothing can be run there, 2 the command line makes no
sense, 126 the command can't be run.)";

struct ExecFlags {
  std::string job;
  std::string task;
  PlaceFlags place;
};

constexpr int kCanNotRun = 126;

Result<GuestCommand> guest(const ExecFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) return invalid("no command; write it after '--', for example: -- ps -ef");
  const auto random = make_random();
  MR_ASSIGN(const auto place, place_of(flags.place, *random, Clock::real()));
  MR_ASSIGN(const JobSight job, place->look(flags.job));
  MR_ASSIGN(const TaskSight task, running_task(job, flags.task));
  return place->guest_of(flags.job, task, command,
                         isatty(STDIN_FILENO) == 1 ? Terminal::yes : Terminal::no);
}

// Returns only if the command can't be run.
Status become(GuestCommand guest) {
  if (!guest.directory.empty() && chdir(guest.directory.c_str()) != 0)
    return failed_precondition("the task's directory '", guest.directory, "': ", strerror(errno));
  if (guest.environment) {
    clearenv();
    for (const auto& [name, value] : *guest.environment) setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  for (std::string& word : guest.words) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return failed_precondition("'", guest.words[0], "' can't be run: ", strerror(errno));
}

int exec(const ExecFlags& flags, const std::vector<std::string>& command) {
  Result<GuestCommand> found = guest(flags, command);
  if (!found.ok()) return complain("exec", found.status());
  complain("exec", become(*std::move(found)));
  return kCanNotRun;
}

}  // namespace

void add_exec(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ExecFlags>();
  CLI::App* verb = app.add_subcommand("exec", "Run a command where a task runs");
  verb->footer(kExecFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  verb->add_option("TASK", flags->task, "Beside which task")->type_name("NAME:N")->required();
  add_place_flags(*verb, flags->place);
  verb->callback([flags, &invocation] {
    invocation.run = [flags, &invocation] { return exec(*flags, invocation.command); };
  });
}

}  // namespace millrace
