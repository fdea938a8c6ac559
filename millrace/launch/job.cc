#include "millrace/launch/job.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/cluster/standby_jobs.h"
#include "millrace/launch/ports.h"
#include "millrace/launch/secrets.h"
#include "millrace/launch/staging.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongest = std::chrono::hours(24 * 365);
constexpr milliseconds kForOutputs = std::chrono::seconds(30);

bool is_variable_name(std::string_view text) {
  return !text.empty() && text.find_first_of(std::string_view("=\0", 2)) == std::string_view::npos;
}

constexpr std::string_view kExampleStaging = "hdfs://namenode:8020/user/me";

// "hdfs://HOST/PATH", or as WebHDFS is called.
bool is_staging(std::string_view text) {
  for (const std::string_view scheme : {"hdfs://", "webhdfs://", "swebhdfs://"}) {
    if (!text.starts_with(scheme)) continue;
    const size_t path = text.find('/', scheme.size());
    return path != std::string_view::npos && path > scheme.size();
  }
  return false;
}

std::string names_of(const std::vector<RoleSpec>& roles) {
  std::string text;
  for (const RoleSpec& role : roles) str_append(&text, text.empty() ? "" : ", ", role.name);
  return text;
}

bool has_role(const JobSpec& job, std::string_view name) {
  return std::any_of(job.roles.begin(), job.roles.end(),
                     [&](const RoleSpec& role) { return role.name == name; });
}

Status check_roles(const std::vector<RoleSpec>& roles) {
  if (roles.empty()) return invalid("the job has no tasks; say for example --job worker=2");
  std::set<std::string> seen;
  int64_t tasks = 0;
  for (const RoleSpec& role : roles) {
    if (!is_job_name(role.name))
      return invalid("--job ", role.name, "=", role.count,
                     ": a name is a letter, then letters, digits and underscores");
    if (!seen.insert(role.name).second) return invalid("--job ", role.name, " is given twice");
    if (role.count < 1) return invalid("--job ", role.name, "=", role.count, ": at least one task");
    if (least_of(role) < 1 || role.count < least_of(role) || role.count > most_of(role))
      return invalid("role ", role.name, " has ", role.count, " tasks, and may have ",
                     least_of(role), " to ", most_of(role),
                     "; min, count and max are to go up, from 1");
    tasks += most_of(role);
  }
  if (tasks > kMostTasks) return invalid("the job has ", tasks, " tasks; at most ", kMostTasks);
  return {};
}

Status check_environment(const std::vector<EnvironmentEntry>& environment) {
  for (const auto& [name, value] : environment) {
    if (!is_variable_name(name))
      return invalid("'", name, "' is no name of an environment variable");
    if (is_set_by_launchers(name))
      return invalid("environment variable ", name, " is set for each task by the launcher");
  }
  return {};
}

Status check_restarts(const RoleSpec& role, bool decides) {
  const RestartPolicy& policy = role.restart;
  using When = RestartPolicy::When;
  if (policy.when == When::always && decides)
    return invalid("role ", role.name,
                   " is always started again, but its success is the job's, which would never end; "
                   "let it restart on_failure, or name other roles with until");
  if (!policy.causes.empty() && policy.when == When::never)
    return invalid("role ", role.name, " never restarts, but it is said after which failures");
  if (policy.when != When::never && policy.budget.restarts == 0)
    return invalid("role ", role.name, " has a budget of 0 restarts; write restart: never");
  if (policy.longest_pause < policy.pause)
    return invalid("role ", role.name, ": the first pause, ", policy.pause.count(),
                   " ms, is longer than the longest, ", policy.longest_pause.count(), " ms");
  if (decides && role.may_lose.of(role.count) >= least_of(role))
    return invalid("role ", role.name, " may lose ", to_text(role.may_lose), " of ", role.count,
                   ", all its tasks", scales(role) ? str_cat(" when it has ", least_of(role)) : "",
                   ", but its success is the job's; leave it at least one");
  return {};
}

Status check_witness(const JobSpec& job) {
  if (job.witness.empty()) return {};
  MR_ASSIGN(const TaskName witness, parse_task(job.witness).with("witness"));
  const auto of = std::ranges::find(job.roles, witness.job, &RoleSpec::name);
  if (of == job.roles.end() || witness.task >= of->count)
    return invalid("witness ", job.witness, ": the job has no such task");
  if (!of->stands_by_for.empty())
    return invalid("witness ", job.witness, ": its role stands by for another one");
  if (job.state.empty())
    return invalid("witness ", job.witness, ": its record needs a folder; say state");
  for (const RoleSpec& role : job.roles)
    if (scales(role))
      return invalid("role ", role.name, " may be scaled, which a job with a witness can't be");
  return {};
}

Status check_standbys(const JobSpec& job) {
  MR_TRY(check_witness(job));
  std::set<std::string> followed;
  for (const RoleSpec& role : job.roles) {
    if (role.stands_by_for.empty()) continue;
    const std::string what = str_cat("role ", role.name, " stands by for ", role.stands_by_for);
    if (job.witness.empty())
      return invalid(what, ", but the job has no witness; say for example /job:chief/task:0");
    const auto other = std::ranges::find(job.roles, role.stands_by_for, &RoleSpec::name);
    if (other == job.roles.end()) return invalid(what, ", which the job does not have");
    if (!other->stands_by_for.empty()) return invalid(what, ", which stands by itself");
    if (role.count > other->count)
      return invalid(what, ", and has ", role.count, " tasks for ", other->count);
    if (!followed.insert(other->name).second)
      return invalid(what, ", for which another role does already");
    if (parse_task(job.witness)->job == other->name)
      return invalid(what, ", of which the witness is; its record has one task only");
  }
  return {};
}

// Below the task's folder, whatever it says.
Status check_outputs(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const std::string around = "/" + pattern + "/";
    if (pattern.empty() || around.find("/../") != std::string::npos ||
        around.find("//") != std::string::npos || around.find('\n') != std::string::npos)
      return invalid("outputs: '", pattern,
                     "' is no path below a task's folder; write for example model/*");
  }
  return {};
}

Status check_staging(const JobSpec& job) {
  MR_TRY(check_outputs(job.outputs));
  for (const RoleSpec& role : job.roles) MR_TRY(check_outputs(role.outputs));
  if (!job.state.empty() && job.state[0] != '/' && has_task_folders(job))
    return invalid("state: '", job.state,
                   "' would go with the folder of a task, which has files or outputs; write a "
                   "path that begins with /");
  for (const std::string& file : job.files)
    if (file.empty() || file.ends_with('/'))
      return invalid("files: '", file, "' is no file; a folder goes along as an archive");
  if (job.staging.empty() || job.staging == kBySubmitter || is_staging(job.staging)) return {};
  return invalid("staging: '", job.staging, "' is no folder of HDFS; write for example ",
                 kExampleStaging, "; or ", kBySubmitter, ", where there is none");
}

// What the tasks of this machine are to listen at can't be what their programs serve as well.
Status check_role_ports(const JobSpec& job, int first, int last) {
  for (const RoleSpec& role : job.roles)
    for (const auto& [name, port] : role.ports)
      if (port >= first && port <= last)
        return invalid("ports.", name, " of role ", role.name, ": ", port, " is one of the ports ",
                       first, " to ", last, " that the tasks get; choose another");
  return {};
}

Status check_task_ports(const JobSpec& job) {
  MR_TRY(HostPort::parse(HostPort{job.host, 1}.to_string()).with(str_cat("host '", job.host, "'")));
  if (!job.first_port) return {};
  int last = *job.first_port - 1;
  for (const RoleSpec& role : job.roles) last += most_of(role);
  if (*job.first_port >= 1 && last <= 65535) return check_role_ports(job, *job.first_port, last);
  return invalid("ports ", *job.first_port, " to ", last, " are needed; 1 to 65535 are allowed");
}

}  // namespace

Status check(const JobSpec& job) {
  MR_TRY(check_roles(job.roles));
  for (const std::string& name : job.until)
    if (!has_role(job, name))
      return invalid("--until ", name, ": no such job; there are: ", names_of(job.roles));
  const std::vector<std::string> deciding = deciding_roles(job);
  for (const RoleSpec& role : job.roles) {
    const std::vector<std::string>& command = command_of(job, role);
    if (command.empty() || command[0].empty())
      return invalid("no command to run; write it after '--', for example: -- python3 train.py");
    MR_TRY(check_environment(role.environment));
    MR_TRY(check_ports(role.ports).with(str_cat("role ", role.name)));
    MR_TRY(check_wishes(role.kubernetes).with(str_cat("role ", role.name)));
    const bool decides = std::ranges::find(deciding, role.name) != deciding.end();
    MR_TRY(check_restarts(role, decides));
  }
  MR_TRY(check_environment(job.environment));
  MR_TRY(check_secrets(job));
  if (!job.state_keeps.empty() && job.state_keeps != "all" && job.state_keeps != "asked")
    return invalid("state_keeps is '", job.state_keeps, "'; it is all, or asked");
  MR_TRY(check_standbys(job));
  MR_TRY(check_staging(job));
  if (job.grace < milliseconds(0)) return invalid("the grace time is negative");
  if (job.time_limit && *job.time_limit <= milliseconds(0)) return invalid("the time limit is 0");
  MR_TRY(check_wishes(job.kubernetes));
  MR_TRY(check_wishes(job.slurm));
  MR_TRY(check_wishes(job.yarn));
  return check_task_ports(job);
}

bool scales(const RoleSpec& role) { return role.least || role.most; }

int least_of(const RoleSpec& role) { return role.least.value_or(role.most ? 1 : role.count); }

int most_of(const RoleSpec& role) { return role.most.value_or(role.count); }

JobSpec of_fixed_size(JobSpec job) {
  for (RoleSpec& role : job.roles) role.least = role.most = std::nullopt;
  return job;
}

bool has_task_folders(const JobSpec& job) {
  return !job.files.empty() || !job.outputs.empty() ||
         std::ranges::any_of(job.roles, [](const RoleSpec& role) { return !role.outputs.empty(); });
}

const std::vector<std::string>& outputs_of(const JobSpec& job, const RoleSpec& role) {
  return role.outputs.empty() ? job.outputs : role.outputs;
}

milliseconds time_to_end(const JobSpec& job) {
  const bool comes_back = std::ranges::any_of(
      job.roles, [&](const RoleSpec& role) { return !outputs_of(job, role).empty(); });
  return comes_back ? job.grace + kForOutputs : job.grace;
}

const std::vector<std::string>& command_of(const JobSpec& job, const RoleSpec& role) {
  return role.command.empty() ? job.command : role.command;
}

std::vector<EnvironmentEntry> environment_of(const JobSpec& job, const RoleSpec& role) {
  std::vector<EnvironmentEntry> entries;
  if (job.once) entries.emplace_back("MILLRACE_ONCE", "1");
  if (!job.state.empty()) entries.emplace_back("MILLRACE_STATE", job.state);
  if (!job.state_keeps.empty()) entries.emplace_back("MILLRACE_STATE_KEEPS", job.state_keeps);
  if (!job.witness.empty()) entries.emplace_back(kWitnessVariable, job.witness);
  StandbyJobs standbys;
  for (const RoleSpec& each : job.roles)
    if (!each.stands_by_for.empty()) standbys.emplace(each.name, each.stands_by_for);
  if (!standbys.empty()) entries.emplace_back(kStandbysVariable, to_text(standbys));
  entries.insert(entries.end(), job.environment.begin(), job.environment.end());
  entries.insert(entries.end(), role.environment.begin(), role.environment.end());
  return entries;
}

std::vector<std::string> deciding_roles(const JobSpec& job) {
  if (!job.until.empty()) return job.until;
  std::vector<std::string> names;
  for (const char* name : {"chief", "master", "worker"})
    if (has_role(job, name)) names.emplace_back(name);
  if (!names.empty()) return names;
  for (const RoleSpec& role : job.roles)
    if (role.stands_by_for.empty()) names.push_back(role.name);
  return names;
}

bool is_submitted_name(std::string_view text) {
  auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 40 && text[0] >= 'a' && text[0] <= 'z' &&
         text.back() != '-' && std::all_of(text.begin(), text.end(), fits);
}

Result<RoleSpec> parse_role(std::string_view text) {
  std::string_view name = text.substr(0, text.find('='));
  RoleSpec role{.name = std::string(name), .count = 1};
  if (name.size() != text.size()) {
    std::string_view count = text.substr(name.size() + 1);
    const char* end = count.data() + count.size();
    auto [stop, fault] = std::from_chars(count.data(), end, role.count);
    if (fault != std::errc() || stop != end || role.count < 1)
      return invalid("--job ", text.substr(0, 80), ": write NAME=COUNT, for example worker=2");
  }
  MR_TRY(check_roles({role}));
  return role;
}

Status set_restart(JobSpec& job, std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  const auto role = std::ranges::find(job.roles, name, &RoleSpec::name);
  if (role == job.roles.end())
    return invalid("--restart ", text.substr(0, 80),
                   ": no such job; there are: ", names_of(job.roles));
  const std::string_view how = name == text ? "on_failure" : text.substr(name.size() + 1);
  MR_ASSIGN(role->restart, parse_restart(how).with(str_cat("--restart ", name)));
  return {};
}

Status check_never_restarts(const JobSpec& job, std::string_view where) {
  for (const RoleSpec& role : job.roles) {
    const bool restarts = role.restart.when != RestartPolicy::When::never;
    if (!restarts && role.may_lose.amount == 0) continue;
    return invalid("role ", role.name, ": ", restarts ? "restart" : "may_lose",
                   " is for tasks of this machine; ", where,
                   " no task is started again or left out yet: leave it out");
  }
  return {};
}

Result<EnvironmentEntry> parse_environment_entry(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return invalid("--env ", text.substr(0, 80), ": write NAME=VALUE");
  return EnvironmentEntry{text.substr(0, equals), text.substr(equals + 1)};
}

Result<milliseconds> parse_duration(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [stop, fault] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  std::string_view unit(stop, static_cast<size_t>(end - stop));
  double scale = unit.empty() || unit == "s" ? 1e3
                 : unit == "ms"              ? 1
                 : unit == "m"               ? 60e3
                 : unit == "h"               ? 3600e3
                                             : 0;
  bool fits = number >= 0 && number * scale <= static_cast<double>(kLongest.count());
  if (fault != std::errc() || scale == 0 || !fits)
    return invalid("'", text.substr(0, 40), "' is no duration; write seconds, or 500ms, 10m, 2h");
  return milliseconds(static_cast<int64_t>(number * scale));
}

Result<int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [stop, fault] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9},
      {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
  for (const auto& [name, scale] : kUnits) {
    if (fault == std::errc() && unit == name && number > 0 && number * scale < 0x1p60)
      return static_cast<int64_t>(number * scale);
  }
  return invalid("'", text.substr(0, 40),
                 "' is no amount of memory; write bytes, or 512Mi, 2Gi, 1.5G");
}

std::string duration_text_of(std::chrono::milliseconds duration) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}};
  for (const auto& [unit, name] : kUnits)
    if (duration.count() > 0 && duration.count() % unit == 0)
      return str_cat(duration.count() / unit, name);
  return str_cat(duration.count(), "ms");
}

}  // namespace millrace
