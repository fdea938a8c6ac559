#include "millrace/bin/job_flags.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/launch/job_file.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {
namespace {

// CLI11 does not know of what follows "--".
class JobFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    return usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT...]");
  }
};

// What stands before "--" and is no flag of ours; most often the command, without its "--".
Status check_extras(const JobFlags& flags, std::vector<std::string> extras) {
  if (!flags.jobs.empty() && !flags.file.empty()) extras.insert(extras.begin(), flags.file);
  if (extras.empty()) return {};
  if (extras[0].starts_with("-"))
    return invalid("unknown flag ", extras[0], "; millrace run --help lists those there are");
  std::string text;
  for (const std::string& extra : extras) str_append(&text, " ", shell_quoted(extra));
  return invalid("'", extras[0], "' was not expected; write the command after '--': --",
                 text.substr(0, 200));
}

// "word-count" of "some/where/word_count.yaml"; "" if nothing of it can be a name.
std::string name_of_file(const std::string& path) {
  std::string name;
  for (char c : std::filesystem::path(path).stem().string())
    name += c == '_' || c == '.' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return is_submitted_name(name) ? name : "";
}

Result<JobSpec> job_of_file(const std::string& path) {
  MR_ASSIGN(const std::string text, read_job_text(path));
  MR_ASSIGN(JobSpec job, parse_job_file(text, path));
  if (job.name.empty()) job.name = name_of_file(path);
  return job;
}

Result<JobSpec> job_of_roles(const JobFlags& flags) {
  JobSpec job;
  for (const std::string& text : flags.jobs) {
    MR_ASSIGN(RoleSpec role, parse_role(text));
    job.roles.push_back(std::move(role));
  }
  return job;
}

}  // namespace

void add_job_flags(CLI::App& verb, JobFlags& flags) {
  verb.formatter(std::make_shared<JobFormatter>());
  verb.prefix_command();  // from the first word that is no flag of ours: check_extras() explains
  verb.add_option("FILE", flags.file, "A job file; flags say what differs from it")->type_name("");
  verb.add_option("--job", flags.jobs, "A job and how many tasks it has; may be repeated")
      ->type_name("NAME=COUNT")
      ->allow_extra_args(false);
  verb.add_option("--until", flags.until,
                  "Jobs whose success ends the run (default: chief, master and worker; else all)")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb.add_option("--restart", flags.restarts,
                  "Start tasks that fail again: at most so many times, or 10 in 5m, never, "
                  "on_failure (10 in 5m), always; may be repeated")
      ->type_name("NAME[=HOW]")
      ->allow_extra_args(false);
  verb.add_flag("--once", flags.once,
                "Each element that a session dequeues counts once, though tasks die or try again");
  verb.add_option(
          "--state", flags.state,
          "Each task keeps its variables and shared queues in this folder, for its next life")
      ->type_name("DIR");
  verb.add_option("--state-keeps", flags.state_keeps,
                  "What --state keeps: all, or asked: those that ask for it, by durable=True (all)")
      ->type_name("WHAT");
  verb.add_option("--witness", flags.witness,
                  "The task that says who owns a state that two tasks have, with the job file's "
                  "stands_by_for")
      ->type_name("TASK");
  verb.add_option("--env", flags.environment, "Set in every task; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb.add_option("--cwd", flags.directory, "Directory that the tasks run in")->type_name("DIR");
  verb.add_option("--timeout", flags.timeout, "The job fails when it takes longer")
      ->type_name("DURATION");
  verb.add_option("--grace", flags.grace, "From SIGTERM to SIGKILL when a task has to end (5s)")
      ->type_name("DURATION");
}

Result<std::string> read_job_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // One byte more than there may be is enough to be refused; a device may have no end.
  std::string text(YamlValue::kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return not_found("can't read the job file '", path, "'");
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Result<JobSpec> job_of(const JobFlags& flags, const std::vector<std::string>& extras,
                       const std::vector<std::string>& command) {
  MR_TRY(check_extras(flags, extras));
  MR_ASSIGN(JobSpec job, flags.file.empty() ? job_of_roles(flags) : job_of_file(flags.file));
  for (const std::string& text : flags.environment) {
    MR_ASSIGN(EnvironmentEntry entry, parse_environment_entry(text));
    job.environment.push_back(std::move(entry));
  }
  job.once |= flags.once;
  if (!flags.state.empty()) job.state = flags.state;
  if (!flags.state_keeps.empty()) job.state_keeps = flags.state_keeps;
  if (!flags.witness.empty()) job.witness = flags.witness;
  for (const std::string& text : flags.restarts) MR_TRY(set_restart(job, text));
  if (!flags.until.empty()) job.until = flags.until;
  if (!command.empty()) job.command = command;
  if (!flags.directory.empty()) job.directory = flags.directory;
  if (!flags.grace.empty()) {
    MR_ASSIGN(job.grace, parse_duration(flags.grace).with("--grace"));
  }
  if (!flags.timeout.empty()) {
    MR_ASSIGN(job.time_limit, parse_duration(flags.timeout).with("--timeout"));
  }
  MR_TRY(check(job));
  return job;
}

}  // namespace millrace
