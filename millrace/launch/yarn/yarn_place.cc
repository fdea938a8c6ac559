#include "millrace/launch/yarn/yarn_place.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/yarn/job_token.h"
#include "millrace/launch/yarn/yarn_logs.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr const char* kHdfsPortVariable = "MILLRACE_HDFS_HTTP_PORT";
constexpr seconds kToBeDecided{20};
// How long, after the job's grace, the launcher may take to end, and then YARN.
constexpr seconds kAfterGrace{15};
constexpr seconds kToBeGone{120};
// As long nobody may have answered who has a job's files to give.
constexpr seconds kSilenceWhileServing{120};
// And to leave what the tasks have made, which may be much.
constexpr seconds kToLeaveOutputs{1800};
// What a launcher writes is brought from it, or, when it has ended, from where it has left it.
constexpr seconds kToBeBrought{10};

std::string app_path(const std::string& application) { return str_cat("apps/", application); }

// Of a job without HDFS whose launcher nobody here has asked in time.
void say_where_logs_are(const KeptJob& job, LauncherSight& sight) {
  str_append(&sight.why, sight.why.empty() ? "" : "; ",
             "nobody here has had its logs from its launcher, and YARN does not give them out "
             "here: yarn logs -applicationId ",
             job.submission.number);
}

// Where commands are let in beside the task; 0: nowhere.
int guests_port(const JobSpec& job, const Journal& journal, const std::string& task) {
  const std::vector<SupervisedTask> tasks = supervised_tasks(job);
  int port = 0;
  for (const JournalEntry& entry : journal.entries)
    if (const auto* came = std::get_if<TaskCame>(&entry.what);
        came != nullptr && tasks[came->task].name == task)
      port = came->guests;
  return port;
}

// Of one that YARN no longer knows.
ApplicationState forgotten_application() { return {.state = "FINISHED"}; }

}  // namespace

// Paths of this machine mean nothing on others that share none.
std::vector<EnvironmentEntry> YarnHost::environment_of_staged(const StagedJob& job) const {
  std::vector<EnvironmentEntry> environment = {{kTokenVariable, job.token},
                                               {"HADOOP_USER_NAME", options_.user}};
  for (const auto& entry : options_.environment)
    if (entry.first == "LANG") environment.push_back(entry);
  if (const auto port = options_.staged.environment(kHdfsPortVariable))
    environment.emplace_back(kHdfsPortVariable, *port);
  return environment;
}

YarnLaunch YarnHost::launch_of(const KeptJob& job) const {
  return {.application = job.submission.number,
          .folder = job.folder,
          .directory = options_.directory,
          .schedulers = options_.addresses.schedulers,
          .environment = options_.environment};
}

Status YarnHost::check(const JobSpec& job) {
  return yarn_application(job, launch_of({.job = job})).status();
}

Result<ApplicationState> YarnHost::look_at(const std::string& application) {
  const YarnWeb::Call call = {"GET", app_path(application)};
  Result<std::string> text = web_.ask(call, Tries::several);
  if (text.status().code() == Code::not_found) {
    // One that is just being restarted knows nothing yet.
    MR_ASSIGN(const std::string info, web_.ask({"GET", "info"}, Tries::several));
    MR_ASSIGN(const bool is_active, parse_is_active(info));
    if (!is_active) return unavailable("YARN's ResourceManager just begins");
    text = web_.ask(call, Tries::several);
  }
  if (!text.ok()) return text.status();
  return parse_application(*text);
}

Status YarnHost::kill(const std::string& application) {
  return web_
      .ask({"PUT", str_cat(app_path(application), "/state"), R"({"state":"KILLED"})"},
           Tries::several)
      .status();
}

Status YarnHost::start(KeptJob& job) {
  MR_ASSIGN(const std::string text, web_.ask({"POST", "apps/new-application"}, Tries::several));
  MR_ASSIGN(const NewApplication application, parse_new_application(text));
  MR_TRY(check_fits(job.job, application.most));
  // Noted before it is there: what runs is never without somebody who knows of it.
  job.submission.number = application.id;
  MR_TRY(write_submission(job));
  MR_TRY(write_racks(job));
  YarnLaunch launch = launch_of(job);
  if (job.job.staging.empty()) {
    MR_ASSIGN(std::string token, make_token_of_job(job.folder, random_));
    launch.environment.emplace_back(kTokenVariable, std::move(token));
  }
  if (!job.job.staging.empty()) {
    MR_ASSIGN(StagedLaunch staged, staged_.send(job));
    launch.resources = std::move(staged.resources);
    launch.environment = environment_of_staged(staged.job);
    launch.token = std::move(staged.token);
  }
  MR_ASSIGN(const nlohmann::ordered_json body, yarn_application(job.job, launch));
  // Once only: whether a call that was not answered has been heard is looked at.
  Status submitted = web_.ask({"POST", "apps", body.dump()}, Tries::one).status();
  if (!submitted.ok()) {
    if (!may_pass(submitted)) return submitted;
    const Status undone = undo(application.id);
    if (undone.ok()) return submitted;
    return submitted.then(str_cat("; whether it was submitted all the same can't be said (",
                                  undone.message(), "): it would be ", application.id));
  }
  const Clock::Time until = clock_.now() + kToBeDecided;
  while (clock_.now() < until) {
    const Result<ApplicationState> state = look_at(application.id);
    // It is there, and whoever asks next may hear more.
    if (!state.ok()) break;
    if (was_refused(*state)) return yarn_fault(400, state->diagnostics);
    if (is_decided(*state)) break;
    pause(kBetweenLooks);
  }
  return is_by_submitter(job.job) ? see_off(job) : Status();
}

Status YarnHost::see_off(const KeptJob& job) {
  const std::string& application = job.submission.number;
  SignalWatch signals;
  std::string told;
  Clock::Time heard = clock_.now();
  for (;; pause(kBetweenLooks)) {
    if (const auto signal = signals.take()) {
      MR_TRY(end(job));
      return cancelled(to_text(*signal), ": it is taken back, since its files were still here");
    }
    const Result<ApplicationState> state = look_at(application);
    if (!state.ok()) {
      if (may_pass(state.status()) && clock_.now() < heard + kSilenceWhileServing) continue;
      (void)kill(application);
      return state.status();
    }
    heard = clock_.now();
    if (state->state == "RUNNING" && !state->address.empty()) break;
    if (is_over(*state)) return failed_precondition(launcher_sight(*state).why);
    const LauncherSight sight = launcher_sight(*state);
    if (sight.waits.empty() || sight.waits[0] == told) continue;
    told = sight.waits[0];
    if (options_.progress) options_.progress(told);
  }
  staged_.forget_sent(job);
  return {};
}

// Nobody tells the application master, who needs them for tasks that come back.
Status YarnHost::write_racks(const KeptJob& job) {
  const bool restarts = std::ranges::any_of(job.job.roles, [](const RoleSpec& role) {
    return role.restart.when != RestartPolicy::When::never;
  });
  if (!restarts) return {};
  MR_ASSIGN(const std::string text, web_.ask({"GET", "nodes"}, Tries::several));
  MR_ASSIGN(const YarnRacks racks, parse_nodes(text));
  return write_whole_text(racks_in(job.folder), to_text(racks));
}

Status YarnHost::undo(const std::string& application) {
  const Status there = look_at(application).status();
  if (there.code() == Code::not_found) return {};
  return there.ok() ? kill(application) : there;
}

Result<std::vector<LauncherSight>> YarnHost::see(const std::vector<KeptJob>& jobs) {
  std::vector<LauncherSight> sights;
  for (const KeptJob& job : jobs) {
    // Its submission was cut off before YARN heard of it.
    if (job.submission.number.empty()) {
      sights.push_back(forgotten_launcher());
      continue;
    }
    const Result<ApplicationState> state = look_at(job.submission.number);
    if (!state.ok() && state.status().code() != Code::not_found) return state.status();
    MR_TRY(bring(job, state.ok() ? *state : forgotten_application()));
    sights.push_back(state.ok() ? launcher_sight(*state) : forgotten_launcher());
    const bool has_begun =
        (state.ok() && state->state == "FINISHED") || read_journal(job).start.has_value();
    if (sights.back().stage == LauncherSight::Stage::gone && has_begun &&
        StagedLaunches::is_lost(job.folder) && !staged_.missing(job).empty())
      say_where_logs_are(job, sights.back());
  }
  return sights;
}

Status YarnHost::bring(const KeptJob& job, ApplicationState state) {
  using Launcher = StagedLaunches::Launcher;
  if (!StagedLaunches::is_staged(job.folder)) return {};
  const Clock::Time until = clock_.now() + kToBeBrought;
  for (;; pause(kBetweenLooks)) {
    const bool has_begun = state.state == "RUNNING" && !state.address.empty();
    const Launcher launcher = is_over(state) ? Launcher::over
                              : has_begun    ? Launcher::running
                                             : Launcher::pending;
    Status brought = staged_.bring(job, launcher, state.address);
    if (brought.ok() && launcher == Launcher::over) bring_kept_by_yarn(job, state);
    if (brought.ok() || !may_pass(brought) || clock_.now() >= until) return brought;
    // It may have ended since.
    Result<ApplicationState> now = look_at(job.submission.number);
    if (!now.ok() && now.status().code() != Code::not_found) return now.status();
    state = now.ok() ? std::move(*now) : forgotten_application();
  }
}

void YarnHost::bring_kept_by_yarn(const KeptJob& job, const ApplicationState& state) {
  const std::vector<std::string> missing = staged_.missing(job);
  if (missing.empty()) return;
  const KeptByYarn kept{.container = state.master_container,
                        .web = state.master_web,
                        .aggregated = aggregated_folders(options_.addresses.logs, options_.user,
                                                         job.submission.number)};
  const YarnLogsOptions options{
      .page = [this](const std::string& url) { return web_.page(url); },
      .files = [this](const std::string& path) { return staged_.files_at(path); }};
  staged_.had_elsewhere(job, bring_from_yarn(options, kept, job.folder, missing));
}

Result<std::string> YarnHost::bring_outputs(const KeptJob& job) {
  const bool has_outputs = has_task_folders(launcher_ships(job.job));
  if (!StagedLaunches::is_staged(job.folder) || !(has_outputs || is_by_submitter(job.job)))
    return std::string();
  // Its journal's end comes before its launcher's last act.
  const Clock::Time until = clock_.now() + kToLeaveOutputs;
  for (;; pause(kBetweenLooks)) {
    const Result<ApplicationState> state = look_at(job.submission.number);
    if (state.status().code() == Code::not_found || (state.ok() && is_over(*state))) break;
    if (!state.ok() && !may_pass(state.status())) return state.status();
    if (is_by_submitter(job.job) && state.ok()) {
      const Status had = staged_.bring(job, StagedLaunches::Launcher::running, state->address);
      if (had.ok()) break;
      if (!may_pass(had)) return had;
    }
    if (clock_.now() >= until)
      return error(Code::deadline_exceeded,
                   "outputs: its launcher still leaves them; millrace wait ", job.job.name,
                   " --on yarn asks again");
  }
  return staged_.bring_outputs(job);
}

void YarnHost::want(const std::string& log) {
  const std::optional<KeptJob> job = staged_.want(log);
  if (!job) return;
  Result<ApplicationState> state = look_at(job->submission.number);
  if (!state.ok() && state.status().code() != Code::not_found) return;
  // What can't be had now may be with the next look.
  (void)bring(*job, state.ok() ? std::move(*state) : forgotten_application());
}

Status YarnHost::wish(const KeptJob& job, const ScaleWish& wish) {
  if (!StagedLaunches::is_staged(job.folder)) return LauncherHost::wish(job, wish);
  MR_ASSIGN(const ApplicationState state, look_at(job.submission.number));
  return staged_.wish(job, to_line(wish), state.address);
}

Status YarnHost::ask_to_end(const ApplicationState& application) {
  return web_
      .ask({"POST",
            str_cat("containers/", application.master_container, "/signal/GRACEFUL_SHUTDOWN")},
           Tries::several)
      .status();
}

Result<GuestCommand> YarnHost::guest_of(const KeptJob& job, const TaskSight& task,
                                        const std::vector<std::string>& command, Terminal) {
  const int port = guests_port(job.job, read_journal(job), task.name);
  if (port == 0)
    return failed_precondition(
        task.name, " lets no command in: ",
        task.where.empty() ? "it is not there yet"
                           : "its job was submitted by an earlier Millrace, or its machine's "
                             "kernel is older than Linux 5.3; its log says so");
  GuestCommand guest{.words = {options_.staged.program, "yarn-guest", "--at",
                               HostPort{task.where, port}.to_string(), "--folder", job.folder,
                               "--task", task.name, "--"}};
  guest.words.insert(guest.words.end(), command.begin(), command.end());
  return guest;
}

Status YarnHost::end(const KeptJob& job) {
  const std::string& application = job.submission.number;
  if (application.empty()) return {};
  const bool leaves_outputs =
      StagedLaunches::is_staged(job.folder) && has_task_folders(launcher_ships(job.job));
  const Clock::Time by_yarn = clock_.now() + time_to_end(job.job) + kAfterGrace +
                              (leaves_outputs ? kToLeaveOutputs : seconds(0));
  enum class Sent { nothing, signal, kill } sent = Sent::nothing;
  for (;; pause(kBetweenLooks)) {
    const Result<ApplicationState> state = look_at(application);
    if (!state.ok() && state.status().code() == Code::not_found) return {};
    if (!state.ok()) return state.status();
    if (is_over(*state)) return {};
    const Clock::Time now = clock_.now();
    if (now >= by_yarn + kToBeGone)
      return error(Code::deadline_exceeded, application, " is still there, and ", state->state);
    const bool has_launcher = state->state == "RUNNING" && !state->master_container.empty();
    if (sent == Sent::nothing && has_launcher) {
      // The launcher knows what else is to be ended, and how. A YARN that can't tell it so kills
      // it.
      if (ask_to_end(*state).ok()) {
        sent = Sent::signal;
        continue;
      }
    }
    // It stays for who takes what it leaves, and this is who does.
    if (sent == Sent::signal && is_by_submitter(job.job) && has_launcher)
      (void)staged_.bring(job, StagedLaunches::Launcher::running, state->address);
    if (sent == Sent::kill || (sent == Sent::signal && now < by_yarn)) continue;
    Status killed = kill(application);
    // It may have ended, and been forgotten, since; the next look says so.
    if (!killed.ok() && killed.code() != Code::not_found) return killed;
    if (killed.ok()) sent = Sent::kill;
  }
}

}  // namespace millrace
