// Part of verbs.h: `millrace run`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

constexpr const char* kRunFooter =
    R"(Every task gets a port, TF_CONFIG and PYTHONUNBUFFERED=1, and runs the same COMMAND. Its port is
bound before it starts and handed over as descriptor MILLRACE_LISTEN_FD, so that nobody can take it.

The job succeeds when all tasks of the --until jobs have; the other tasks are then ended. A task has
succeeded when it ends with code 0, or of the end of its input (an error that says that a queue is
closed and empty). A task that fails ends the job. Ctrl-C ends everything, a second one at once.
Nothing that a task started outlives this command.

Examples:
  millrace run --job files=1 --job reduce=1 --job map=2 --until map -- python3 word_count.py
  millrace run --job ps=1 --job worker=4 --log-dir logs --timeout 2h -- python3 train.py --steps 1000
  millrace run --job worker=2 --release-ports -- ./a_program_that_binds_its_port_itself

Exit codes: 0 the job succeeded, 1 it failed, 2 the command line makes no sense, 130 interrupted.)";

// CLI11 does not know of what follows "--".
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    return usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT...]");
  }
};

// The flags as they stand on the command line.
struct RunFlags {
  std::vector<std::string> jobs;
  std::vector<std::string> until;
  std::vector<std::string> environment;
  std::string directory;
  std::string host = JobSpec().host;
  std::string log_directory;
  std::string timeout;
  std::string grace = "5s";
  int first_port = 0;
  bool release_ports = false;
  bool dry_run = false;
};

Result<JobSpec> job_of(const RunFlags& flags, const std::vector<std::string>& command) {
  JobSpec job;
  for (const std::string& text : flags.jobs) {
    MR_ASSIGN(RoleSpec role, parse_role(text));
    job.roles.push_back(std::move(role));
  }
  for (const std::string& text : flags.environment) {
    MR_ASSIGN(EnvironmentEntry entry, parse_environment_entry(text));
    job.environment.push_back(std::move(entry));
  }
  job.until = flags.until;
  job.command = command;
  job.directory = flags.directory;
  job.host = flags.host;
  if (flags.first_port != 0) job.first_port = flags.first_port;
  if (flags.release_ports) job.ports = PortHandling::released;
  MR_ASSIGN(job.grace, parse_duration(flags.grace).with("--grace"));
  if (!flags.timeout.empty()) {
    MR_ASSIGN(job.time_limit, parse_duration(flags.timeout).with("--timeout"));
  }
  MR_TRY(check(job));
  return job;
}

// What stands before "--" and is no flag of ours; most often the command, without its "--".
Status check_extras(const std::vector<std::string>& extras) {
  if (extras.empty()) return {};
  if (extras[0].starts_with("-"))
    return invalid("unknown flag ", extras[0], "; millrace run --help lists those there are");
  std::string text;
  for (const std::string& extra : extras) str_append(&text, " ", shell_quoted(extra));
  return invalid("'", extras[0], "' was not expected; write the command after '--': --",
                 text.substr(0, 200));
}

int run(const RunFlags& flags, const std::vector<std::string>& extras,
        const std::vector<std::string>& command) {
  if (Status status = check_extras(extras); !status.ok()) return complain("run", status);
  Result<JobSpec> job = job_of(flags, command);
  if (!job.ok()) return complain("run", job.status());
  if (flags.dry_run) {
    Result<std::string> plan = describe_local_run(*job);
    if (!plan.ok()) return complain("run", plan.status());
    std::cout << *plan;
    return kDone;
  }
  Result<JobReport> report =
      run_locally(*job, {.log_directory = flags.log_directory, .clock = Clock::real()});
  if (!report.ok()) return complain("run", report.status());
  return exit_code(*report);
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* verb = app.add_subcommand("run", "Run a cluster of tasks on this machine");
  verb->footer(kRunFooter);
  verb->formatter(std::make_shared<RunFormatter>());
  verb->prefix_command();  // from the first word that is no flag of ours: check_extras() explains
  verb->add_option("--job", flags->jobs, "A job and how many tasks it has; may be repeated")
      ->type_name("NAME=COUNT")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--until", flags->until,
                   "Jobs whose success ends the run (default: chief, master and worker; else all)")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--env", flags->environment, "Set in every task; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--cwd", flags->directory, "Directory that the tasks run in")->type_name("DIR");
  verb->add_option("--log-dir", flags->log_directory, "Also write DIR/map_0.log and so on")
      ->type_name("DIR");
  verb->add_option("--timeout", flags->timeout, "The job fails when it takes longer")
      ->type_name("DURATION");
  verb->add_option("--grace", flags->grace, "From SIGTERM to SIGKILL when a task has to end")
      ->type_name("DURATION")
      ->capture_default_str();
  verb->add_option("--host", flags->host, "Address that the tasks listen on")
      ->type_name("HOST")
      ->capture_default_str();
  verb->add_option("--ports", flags->first_port, "First port; the tasks get this and the following")
      ->type_name("PORT")
      ->check(whole_number(1, 65535));
  verb->add_flag(
      "--release-ports", flags->release_ports,
      "Free each port just before its task starts: for programs that bind it themselves");
  verb->add_flag("--dry-run", flags->dry_run, "Print what would be started, and start nothing");
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb, &invocation] {
      return run(*flags, verb->remaining(), invocation.command);
    };
  });
}

}  // namespace millrace
