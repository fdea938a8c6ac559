// Part of verbs.h: `millrace join`.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/run_config.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/local_attendant.h"
#include "millrace/launch/local_farewells.h"
#include "millrace/launch/local_join.h"
#include "millrace/launch/local_leash.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/placeholders.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/scaling.h"
#include "millrace/launch/shipping/baggage.h"
#include "millrace/launch/yarn/local_guest_door.h"

namespace millrace {
namespace {

constexpr const char* kJoinFooter =
    R"(Becomes COMMAND, as one task of a cluster: with TF_CONFIG set, and in the command's words
{job_name}, {task_index} and {ROLE_hosts} replaced. What starts processes knows a role and an index;
the cluster comes from a file, or from whoever supervises the job, once all its tasks are there: then
this task's port is bound already, and handed over. The token is that of MILLRACE_JOB_TOKEN.

Examples:
  millrace join --cluster /etc/millrace/cluster.json --job map --index 3 -- python3 word_count.py
  millrace join --cluster cluster.json --job worker --index 0 -- \
      python3 train.py --worker_hosts={worker_hosts} --job_name={job_name} --task_index={task_index}
  millrace join --at node7:40123 --job worker --index 0 -- python3 train.py

Exit codes: the command's; 1 the file can't be read, or not all tasks came, 2 the command line or the cluster makes no sense,
126 the command can't be run, 127 there is no such command.)";

constexpr int kMostIndex = 999'999'999;
constexpr int kEndedByTerm = 128 + SIGTERM;
// A depot that is not there then does not come back; it comes as late as any pod.
constexpr std::chrono::minutes kToReachDepot{5};

struct JoinFlags {
  std::string cluster_file;
  std::string supervisor;
  std::string host;
  std::string machine_variable;
  std::string timeout = "10m";
  std::vector<std::string> until;
  std::string grace = "5s";
  std::string roster;
  int farewell_port = kFarewellPort;
  int restarts = -1;  // nothing said: no task of the job is started again
  std::vector<int> after;
  std::vector<int> but_after;
  bool always = false;
  std::vector<std::string> may_lose;
  bool has_leash = false;
  std::string files;
  std::string folder;
  bool is_in_place = false;
  bool has_guests = false;
  std::string job;
  int index = 0;
};

Result<TfConfig> config_of(const JoinFlags& flags) {
  std::ifstream file(flags.cluster_file, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return not_found("can't read '", flags.cluster_file, "'");
  MR_ASSIGN(TfConfig config, TfConfig::parse_cluster_file(text.str(), flags.cluster_file));
  for (const std::string& note : config.notes) std::cerr << "millrace join: " << note << "\n";
  config.task_type = flags.job;
  config.task_index = flags.index;
  MR_TRY(check_task(config).with(flags.cluster_file));
  return config;
}

Result<std::string> token_of(const JoinFlags& flags) {
  if (flags.has_leash) return first_line_of_input();
  return variable(kTokenVariable);
}

// What travels with the job, if anything does: before the task says that it is there.
Result<std::optional<Baggage>> fetched(const JoinFlags& flags, const std::string& token) {
  if (flags.files.empty()) return std::optional<Baggage>();
  MR_ASSIGN(const auto patience, parse_duration(flags.timeout).with("--timeout"));
  std::error_code fault;
  const std::string here =
      flags.is_in_place ? std::filesystem::current_path(fault).string() : std::string();
  if (fault) return failed_precondition("this directory: ", fault.message());
  MR_ASSIGN(Baggage baggage, Baggage::fetch({.files = flags.files,
                                             .token = token,
                                             .task = {flags.job, 0, flags.index},
                                             .scratch = scratch_base(),
                                             .in_place = here,
                                             .leash = flags.has_leash ? STDIN_FILENO : -1,
                                             .to_connect = patience},
                                            Clock::real()));
  return std::optional<Baggage>(std::move(baggage));
}

// Where commands are let in beside the task, if they are to be. A task that can't let any in is one
// all the same.
std::optional<GuestDoor> opened_door(const JoinFlags& flags) {
  if (!flags.has_guests) return {};
  Result<GuestDoor> door = GuestDoor::open();
  if (!door.ok()) {
    std::cerr << "millrace join: no command can be run beside this task: "
              << door.status().message() << std::endl;
    return {};
  }
  return *std::move(door);
}

// For as long as this process lives, whatever it becomes.
void leave_behind(std::optional<GuestDoor>& door, const JoinFlags& flags,
                  const std::string& token) {
  if (!door) return;
  const auto random = make_random();
  const std::string attempt = variable(kAttemptVariable);
  const Status left = door->leave_behind({.token = token,
                                          .task = short_name({flags.job, 0, flags.index}),
                                          .attempt = std::max(1, std::atoi(attempt.c_str())),
                                          .clock = Clock::real(),
                                          .random = *random});
  if (!left.ok())
    std::cerr << "millrace join: no command can be run beside this task: " << left.message()
              << std::endl;
}

Result<JoinedTask> joined(const JoinFlags& flags, std::string token, int guests) {
  JoinRequest request{
      .supervisor = flags.supervisor,
      .token = std::move(token),
      .task = {flags.job, 0, flags.index},
      .host = flags.host,
      .machine = flags.machine_variable.empty() ? "" : variable(flags.machine_variable.c_str()),
      .guests = guests,
      .progress = [](const std::string& text) {
        std::cerr << "millrace join: " << text << std::endl;
      }};
  if (flags.has_leash) request.leash = STDIN_FILENO;
  MR_ASSIGN(request.patience, parse_duration(flags.timeout).with("--timeout"));
  return join_job(request, Clock::real());
}

// A copy of the descriptor that the program inherits, in a variable.
Status hand_over(int descriptor, const char* variable) {
  const int copy = fcntl(descriptor, F_DUPFD, 3);
  if (copy < 0) return error(Code::resource_exhausted, "no descriptor: ", std::strerror(errno));
  setenv(variable, std::to_string(copy).c_str(), 1);
  return {};
}

void work_there(const Baggage& baggage) {
  setenv("PATH", str_cat(baggage.search(), ":", variable("PATH")).c_str(), 1);
  setenv("PWD", baggage.folder().c_str(), 1);
}

// The cluster, with everything set up in this process for the program that it becomes; and what
// travels with the job.
Result<TfConfig> prepared(const JoinFlags& flags, std::optional<Baggage>& baggage) {
  if (flags.cluster_file.empty() == flags.supervisor.empty())
    return invalid("say either --cluster FILE or --at HOST:PORT");
  if (!flags.cluster_file.empty()) return config_of(flags);
  MR_ASSIGN(std::string token, token_of(flags));
  MR_ASSIGN(auto had, fetched(flags, token));
  if (had) baggage.emplace(*std::move(had));
  std::optional<GuestDoor> door = opened_door(flags);
  MR_ASSIGN(const JoinedTask task, joined(flags, token, door ? door->port() : 0));
  for (const auto& [name, value] : task.all.environment) setenv(name.c_str(), value.c_str(), 1);
  MR_TRY(hand_over(task.port.descriptor(), kListenDescriptorVariable));
  MR_TRY(hand_over(task.connection.number(), kReportDescriptorVariable));
  setenv(kListenAddressVariable, task.address.c_str(), 1);
  unsetenv(kTokenVariable);
  leave_behind(door, flags, token);
  if (baggage && !flags.is_in_place) work_there(*baggage);
  TfConfig config;
  config.cluster = task.all.cluster;
  config.task_type = flags.job;
  config.task_index = flags.index;
  return config;
}

// "map=2"
Result<std::map<std::string, int>> may_lose_of(const JoinFlags& flags) {
  std::map<std::string, int> may_lose;
  for (const std::string& text : flags.may_lose) {
    MR_ASSIGN(const RoleCount count, parse_role_count(text).with("--may-lose"));
    may_lose.insert(count);
  }
  return may_lose;
}

// How many lives of the task have failed before this one, as Kubernetes tells its pods.
int failures_before() {
  const char* text = std::getenv(kFailuresVariable);
  const int failures = text == nullptr ? 0 : std::atoi(text);
  return std::clamp(failures, 0, kMostRestarts);
}

// In a container, whose folder is the task's own: what travels with the job, if anything does.
Result<std::optional<Baggage>> had_in_folder(const JoinFlags& flags, const std::string& token,
                                             const SignalWatch& signals) {
  if (flags.files.empty()) return std::optional<Baggage>();
  MR_ASSIGN(Baggage baggage, Baggage::fetch({.files = flags.files,
                                             .token = token,
                                             .task = {flags.job, 0, flags.index},
                                             .folder = flags.folder,
                                             .server_called = "the job's depot",
                                             .progress = note_of_join,
                                             .leash = signals.descriptor(),
                                             .to_connect = kToReachDepot},
                                            Clock::real()));
  work_there(baggage);
  if (chdir(baggage.folder().c_str()) != 0)
    return unavailable("can't work in '", baggage.folder(), "': ", std::strerror(errno));
  return std::optional<Baggage>(std::move(baggage));
}

// Stays with the program, so that this task ends with the others.
int stay(const JoinFlags& flags, const TfConfig& config, std::vector<std::string> command) {
  const Result<std::chrono::milliseconds> grace = parse_duration(flags.grace);
  if (!grace.ok()) return complain("join", grace.status().with("--grace"));
  const char* token = std::getenv(kTokenVariable);
  const char* record_file = std::getenv(kReportFileVariable);
  const Result<std::map<std::string, int>> may_lose = may_lose_of(flags);
  if (!may_lose.ok()) return complain("join", may_lose.status());
  const int failures = failures_before();
  if (flags.restarts >= 0) setenv(kAttemptVariable, std::to_string(failures + 1).c_str(), 1);
  const std::vector<int>& codes = flags.after.empty() ? flags.but_after : flags.after;
  // The first process of a container would not even hear of its end otherwise.
  const SignalWatch signals;
  const auto baggage = had_in_folder(flags, token == nullptr ? "" : token, signals);
  if (baggage.status().code() == Code::cancelled) return kEndedByTerm;
  AttendedTask task{
      .cluster = config.cluster,
      .task = {flags.job, 0, flags.index},
      .rules = {.until = flags.until, .may_lose = *may_lose, .are_restarted = flags.restarts >= 0},
      .farewell_port = flags.farewell_port,
      .token = token == nullptr ? "" : token,
      .command = std::move(command),
      .grace = *grace,
      .record_file = record_file == nullptr ? "" : record_file,
      .restarts = std::max(flags.restarts, 0),
      .failures = failures,
      .after_listed = !flags.after.empty(),
      .after_success = flags.always,
      .codes = {codes.begin(), codes.end()},
      .trouble = baggage.status(),
      .roster = flags.roster};
  if (baggage.ok() && *baggage) task.afterwards = [&] { return (*baggage)->bring_back(); };
  unsetenv(kTokenVariable);
  unsetenv(kFailuresVariable);
  return attend(task, Clock::real());
}

void hold_signals() {
  sigset_t held;
  sigemptyset(&held);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, number);
  sigprocmask(SIG_BLOCK, &held, nullptr);
}

// Where no signal comes along, and the end of the input is the word to end; or where something is
// brought back when the program has ended.
int stay_on_leash(const JoinFlags& flags, const std::optional<Baggage>& baggage,
                  const std::vector<std::string>& command) {
  const Result<std::chrono::milliseconds> grace = parse_duration(flags.grace);
  if (!grace.ok()) return complain("join", grace.status().with("--grace"));
  // One that comes while outputs are brought back is heard too late to mean anything.
  if (!flags.has_leash) hold_signals();
  const int code = run_on_leash({.command = command,
                                 .directory = baggage ? baggage->folder() : "",
                                 .grace = *grace,
                                 .leash = flags.has_leash ? STDIN_FILENO : -1},
                                Clock::real());
  const Status brought = baggage ? baggage->bring_back() : Status();
  if (brought.ok()) return code;
  // A task has not succeeded when what it made is lost.
  const int fault = complain("join", brought);
  return code == kDone ? fault : code;
}

int join(const JoinFlags& flags, const std::vector<std::string>& command) {
  if (command.empty() || command[0].empty())
    return complain("join", invalid("no command; write it after '--'"));
  if (!flags.until.empty() && !flags.supervisor.empty())
    return complain("join",
                    invalid("--until: with --at, the supervisor ends the tasks; leave it out"));
  const bool is_of_stay = !flags.roster.empty() || flags.restarts >= 0 || !flags.may_lose.empty();
  if (is_of_stay && flags.until.empty())
    return complain("join", invalid("--roster, --restarts and --may-lose go with --until"));
  if (flags.has_leash && flags.supervisor.empty())
    return complain("join", invalid("--leash: it goes with --at HOST:PORT"));
  if (!flags.files.empty() && flags.supervisor.empty() && flags.folder.empty())
    return complain("join",
                    invalid("--files: it goes with --at HOST:PORT, or with --until and --folder"));
  if (!flags.folder.empty() && (flags.until.empty() || flags.files.empty()))
    return complain("join", invalid("--folder: it goes with --until and --files"));
  if (flags.has_guests && flags.supervisor.empty())
    return complain("join", invalid("--guests: it goes with --at"));
  if (flags.is_in_place && (flags.supervisor.empty() || flags.files.empty()))
    return complain("join", invalid("--in-place: it goes with --at and --files"));
  std::optional<Baggage> baggage;
  const Result<TfConfig> config = prepared(flags, baggage);
  if (config.status().code() == Code::cancelled) return kEndedByTerm;
  if (config.status().code() == Code::aborted) return kDone;
  if (!config.ok()) return complain("join", config.status());
  if (!flags.roster.empty()) setenv(kRosterVariable, flags.roster.c_str(), 1);
  setenv(kTaskVariable, to_json(*config, JsonLayout::one_line).c_str(), 1);
  // Python would keep its lines to itself until the end, as it writes to no terminal.
  setenv("PYTHONUNBUFFERED", "1", 0);
  std::vector<std::string> words =
      with_placeholders(command, config->cluster, {flags.job, 0, flags.index});
  if (flags.has_leash || baggage) return stay_on_leash(flags, baggage, words);
  return flags.until.empty() ? become_command(words) : stay(flags, *config, std::move(words));
}

}  // namespace

void add_join(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<JoinFlags>();
  CLI::App* verb = app.add_subcommand("join", "Become a program, as one task of a cluster");
  verb->footer(kJoinFooter);
  verb->add_option(kClusterFlags, flags->cluster_file, "JSON: a cluster, or a whole TF_CONFIG")
      ->type_name("FILE");
  verb->add_option("--at", flags->supervisor, "Where the job is supervised; it knows the cluster")
      ->type_name("HOST:PORT");
  verb->add_option("--host", flags->host,
                   "With --at: by which name or address the others find this task")
      ->type_name("HOST");
  verb->add_option("--machine-from", flags->machine_variable,
                   "With --at: the variable with what its manager calls this machine")
      ->type_name("VARIABLE");
  verb->add_option("--timeout", flags->timeout, "With --at: how long to wait for the others")
      ->type_name("DURATION")
      ->capture_default_str();
  verb->add_option(
          "--until", flags->until,
          "With --cluster: stay with COMMAND, tell the other tasks how it ended, and end it "
          "when all tasks of these jobs have succeeded or any task has failed")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--roster", flags->roster,
                   "With --until: a file that tells which tasks are absent now; nobody waits for "
                   "them, and COMMAND ends when its own task is")
      ->type_name("FILE");
  verb->add_option("--farewell-port", flags->farewell_port,
                   "With --until: the port at which the tasks hear of each other's ends, the same "
                   "for all")
      ->type_name("PORT")
      ->check(whole_number(1, 65535))
      ->capture_default_str();
  verb->add_option("--restarts", flags->restarts,
                   "With --until: after how many failures of this task another life of it follows, "
                   "whoever starts that; such a failure ends no other task. How many there have "
                   "been stands in MILLRACE_FAILURES")
      ->type_name("N")
      ->check(whole_number(0, kMostRestarts));
  auto* after = verb->add_option("--restarts-after", flags->after, "After these exit codes alone")
                    ->type_name("CODE,...")
                    ->delimiter(',')
                    ->allow_extra_args(false);
  verb->add_option("--restarts-but-after", flags->but_after, "After all exit codes but these")
      ->type_name("CODE,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(after);
  verb->add_flag("--restarts-always", flags->always,
                 "After a normal end too, which is then exit code 251");
  verb->add_option("--may-lose", flags->may_lose,
                   "With --until: so many tasks of a job may fail for good")
      ->type_name("NAME=COUNT,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--grace", flags->grace,
                   "With --until, --leash and --files: from SIGTERM to SIGKILL")
      ->type_name("DURATION")
      ->capture_default_str();
  verb->add_flag(
      "--leash", flags->has_leash,
      "With --at: read the token from standard input, stay with COMMAND, and end it when "
      "that input ends; as --on ssh has it done");
  verb->add_option(kFilesFlag, flags->files,
                   "With --at or --folder: where what travels with the job is had, and the "
                   "SHA-256 of its list; COMMAND runs in a folder of its own with that in it, and "
                   "what the list says is brought back")
      ->type_name("HOST:PORT/SHA256|DIR/SHA256");
  verb->add_option("--folder", flags->folder,
                   "With --until and --files: the folder that COMMAND runs in, which is there, "
                   "empty, and goes with the container")
      ->type_name("DIR");
  verb->add_flag("--guests", flags->has_guests,
                 "With --at: let commands in beside COMMAND, of whoever knows the token, as "
                 "millrace exec has it done on YARN");
  verb->add_flag("--in-place", flags->is_in_place,
                 "With --files: COMMAND runs here, where somebody else has put what travels; only "
                 "outputs are brought back");
  verb->add_option("--job", flags->job, "Which job of it")->type_name("NAME")->required();
  verb->add_option("--index", flags->index, "Which task of that job")
      ->type_name("N")
      ->check(whole_number(0, kMostIndex))
      ->required();
  verb->callback([flags, &invocation] {
    invocation.run = [flags, &invocation] { return join(*flags, invocation.command); };
  });
}

}  // namespace millrace
