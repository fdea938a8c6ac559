// Part of verbs.h: `millrace yarn-task`, which `millrace run --on yarn-am` starts for each task,
// `millrace yarn-inside`, which that has run in a container that does not see the job's folder, and
// `millrace yarn-guest`, which `millrace exec` becomes.
#include <climits>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/base/random.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/yarn/job_token.h"
#include "millrace/launch/yarn/local_errand.h"
#include "millrace/launch/yarn/local_guest_visit.h"
#include "millrace/launch/yarn/local_inside.h"

namespace millrace {
namespace {

constexpr const char* kYarnTaskFooter =
    R"(Asks the application master of a job on YARN for a container, runs COMMAND in it, repeats what that writes,
and ends as it does. `millrace run --on yarn-am` starts one for each task; it is of no use by itself.

Exit codes: the command's; 255 and a line that begins with "yarn: " if YARN ended it or it could not be run.)";

int run_task(const ErrandOptions& flags, const std::vector<std::string>& command) {
  if (command.empty()) return complain("yarn-task", invalid("no command; write it after '--'"));
  ErrandOptions options = flags;
  options.command = command;
  const Result<int> code = run_errand(options);
  return code.ok() ? *code : complain("yarn-task", code.status());
}

constexpr const char* kYarnInsideFooter =
    R"(Has the script of a task from the launcher of a job on YARN whose machines share no folder, runs it, brings what
it writes there, and ends as it does. What `millrace yarn-task` runs in a container; it is of no use by itself.

Exit codes: the script's; 1 and a line on standard error if it can't be had.)";

int run_there_inside(const InsideOptions& flags) {
  InsideOptions options = flags;
  if (const char* token = std::getenv(kTokenVariable); token != nullptr) options.token = token;
  const Result<int> code = run_inside(options);
  return code.ok() ? *code : complain("yarn-inside", code.status());
}

constexpr const char* kYarnGuestFooter =
    R"(Runs COMMAND beside a task of a job on YARN, as the process there does that lets it in. What `millrace exec`
becomes; it is of no use by itself.

Exit codes: the command's; 126 it can't be run, 1 and a line on standard error if the task can't be reached.)";

struct GuestFlags {
  std::string at;
  std::string folder;
  std::string task;
};

int run_guest(const GuestFlags& flags, const std::vector<std::string>& command) {
  if (command.empty()) return complain("exec", invalid("no command; write it after '--'"));
  const Result<std::string> token = token_of_job(flags.folder);
  if (!token.ok()) return complain("exec", token.status());
  const auto random = make_random();
  const Result<int> code = visit({.at = flags.at,
                                  .token = *token,
                                  .task = flags.task,
                                  .command = command,
                                  .clock = Clock::real(),
                                  .random = *random});
  return code.ok() ? *code : complain("exec", code.status());
}

}  // namespace

void add_yarn_guest(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<GuestFlags>();
  CLI::App* verb =
      add_inner_verb(app, "yarn-guest", "Run a command beside a task on YARN", kYarnGuestFooter);
  verb->add_option("--at", flags->at, "Where the task lets commands in")
      ->type_name("HOST:PORT")
      ->required();
  verb->add_option("--folder", flags->folder, "The job's, which has its token")
      ->type_name("DIR")
      ->required();
  verb->add_option("--task", flags->task, "Beside which task")->type_name("NAME:N")->required();
  verb->callback([flags, &invocation] {
    invocation.run = [flags, &invocation] { return run_guest(*flags, invocation.command); };
  });
}

void add_yarn_inside(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<InsideOptions>(InsideOptions{.clock = Clock::real()});
  CLI::App* verb = add_inner_verb(app, "yarn-inside", "Run a task's script in a container of YARN",
                                  kYarnInsideFooter);
  verb->add_option("--at", flags->at, "Where the launcher serves the job's folder")
      ->type_name("HOST:PORT")
      ->required();
  verb->add_option("--files", flags->files, "How the task's files begin there")->required();
  verb->add_option("--logs", flags->logs, "Where the script's output is kept on this machine")
      ->type_name("DIR")
      ->required();
  verb->callback(
      [flags, &invocation] { invocation.run = [flags] { return run_there_inside(*flags); }; });
}

void add_yarn_task(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ErrandOptions>();
  CLI::App* verb =
      add_inner_verb(app, "yarn-task", "Run a command in a container of YARN", kYarnTaskFooter);
  verb->add_option("--master", flags->master, "Where the application master listens")->required();
  verb->add_option("--files", flags->files, "How the files begin that its output goes through")
      ->type_name("PATH")
      ->required();
  verb->add_option("--priority", flags->wish.priority,
                   "Of the container: one for each role, and for each task that comes back")
      ->check(whole_number(0, INT_MAX))
      ->required();
  verb->add_option("--memory", flags->wish.megabytes, "Of the container, in MiB")
      ->check(CLI::PositiveNumber)
      ->required();
  verb->add_option("--cores", flags->wish.cores, "Of the container")
      ->check(whole_number(1, INT_MAX))
      ->required();
  verb->add_option("--gpus", flags->wish.gpus, "Of the container")->check(whole_number(0, INT_MAX));
  verb->add_option("--label", flags->wish.label, "Which the machine must have");
  verb->add_option("--node", flags->wish.node, "The machine that it must be");
  verb->add_option("--rack", flags->wish.rack, "That machine's rack");
  verb->add_option("--image", flags->image, "Of the container")->type_name("IMAGE");
  verb->add_option("--mounts", flags->mounts, "That the container is to have")
      ->type_name("FROM:TO:MODE,...");
  verb->add_option("--served-at", flags->served_at,
                   "Where the files are served, if the container does not see them")
      ->type_name("HOST:PORT");
  verb->callback([flags, &invocation] {
    invocation.run = [flags, &invocation] { return run_task(*flags, invocation.command); };
  });
}

}  // namespace millrace
