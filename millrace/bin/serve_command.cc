// Part of verbs.h: `millrace serve`.
#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>

#include "millrace/base/log.h"
#include "millrace/bin/serve_paired.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/cluster/standby_jobs.h"
#include "millrace/cluster/task_identity.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/local_signals.h"
#include "millrace/op/durable.h"
#include "millrace/session/launched_task.h"
#include "millrace/session/server.h"

namespace millrace {
namespace {

constexpr const char* kServeFooter =
    R"(Serves until SIGTERM or Ctrl-C: clients and other tasks put their graphs on it. Prints one line when it
answers: "serving JOB:INDEX at HOST:PORT", its address in the cluster, or with --bind the one it is
bound to. The cluster and the task come from flags, from a file, or from TF_CONFIG; --job_name and
--task_index choose another task of it.

It listens on loopback only if its address in the cluster is a loopback address, else on all
interfaces; --bind chooses one. Port 0 takes a free one.

With --state its variables, and its queues that have a shared_name, outlive it: whoever serves as the
same task with the same folder goes on with all that was acknowledged, however it ended. With --state-keeps asked
only those that ask for it do (durable=True). MILLRACE_STATE and MILLRACE_STATE_KEEPS say the same, to every server
of the process; MILLRACE_WITNESS says what --witness says, and MILLRACE_STANDBYS=spare=ps that task spare:0 of the
cluster stands by for ps:0, spare:1 for ps:1, at their own addresses.

With --witness a second task may have that state, too, and take it over when the first one is gone: a step is
answered when both disks have what it changed. All tasks of the cluster name the same witness, which needs --state
itself; it says who owns what, and tells the others where. The second task is started with --stands-by-for, a folder of its
own, and --at, where it is to be reached.

SIGUSR1 puts what it waits for into the log; `millrace status` asks the same over its port.

Examples:
  TF_CONFIG='{"cluster": {"ps": ["localhost:2222"]}, "task": {"type": "ps", "index": 0}}' millrace serve
  millrace serve --ps_hosts=a:2222 --worker_hosts=b:2222,c:2222 --job_name=worker --task_index=1
  millrace serve --cluster cluster.json --job_name=ps
  millrace serve --cluster cluster.json --state /var/millrace --witness /job:chief/task:0 \
    --stands-by-for /job:ps/task:0 --at host9:2222

Exit codes: 0 it was asked to stop, 1 it could not serve or stop, 2 the cluster or the command line
makes no sense.)";

constexpr int kMostDevices = 4096;
constexpr const char* kOtherFlags =
    "--cluster, --bind, --cpu-devices, --operation-timeout-ms, --silence-limit-ms, "
    "--intra-op-threads, --inter-op-threads, --state, --state-keeps, --witness, --stands-by-for, "
    "--at, --suspect-after-ms";

struct ServeFlags {
  std::string cluster_file;
  std::string bind_host;
  std::optional<std::string> state_folder = std::nullopt;
  std::optional<std::string> state_keeps = std::nullopt;
  int cpu_devices = 1;
  int operation_timeout_ms = 0;
  ThreadLimits threads = {};
  std::optional<int> silence_limit_ms = std::nullopt;
  WitnessFlags witness;
};

Result<TaskIdentity> identify(const ServeFlags& flags, const std::vector<std::string>& rest) {
  TaskSources sources{
      .tf_config = std::getenv("TF_CONFIG"), .flags = rest, .other_flags = kOtherFlags};
  if (!flags.cluster_file.empty()) {
    std::ifstream file(flags.cluster_file, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) return not_found("can't read '", flags.cluster_file, "'");
    sources.file = ClusterFile{flags.cluster_file, text.str()};
  }
  if (flags.witness.stands_by_for.empty()) return identify_task(sources);
  // It is the task that it stands by for, at another address.
  MR_ASSIGN(const TaskName task, parse_task(flags.witness.stands_by_for).with("--stands-by-for"));
  std::vector<std::string> words = rest;
  words.push_back(str_cat("--job_name=", task.job));
  words.push_back(str_cat("--task_index=", task.task));
  sources.flags = words;
  MR_ASSIGN(TaskIdentity identity, identify_task(sources));
  MR_TRY(identity.cluster.move_task(task, flags.witness.at).with("--at"));
  return identity;
}

Result<ServerOptions> options_of(const ServeFlags& flags, TaskIdentity identity) {
  ServerOptions options;
  options.bind_host = flags.bind_host;
  options.job = identity.task.job;
  options.task = identity.task.task;
  options.cpu_devices = flags.cpu_devices;
  if (flags.state_folder && flags.state_folder->empty())
    return invalid("--state is empty; name the folder where the task's state is to be kept");
  options.state_folder = flags.state_folder.value_or("");
  if (flags.state_keeps) options.state_keeps = keep_of(*flags.state_keeps);
  options.default_options.operation_timeout = std::chrono::milliseconds(flags.operation_timeout_ms);
  options.default_options.threads = flags.threads;
  if (flags.silence_limit_ms)
    options.silence_limit = std::chrono::milliseconds(*flags.silence_limit_ms);
  if (!flags.witness.witness.empty()) options.witness = flags.witness.witness;
  options.stands_by_for = flags.witness.stands_by_for;
  options.suspect_after = std::chrono::milliseconds(flags.witness.silence_ms);
  options.cluster = std::move(identity.cluster);
  MR_TRY(choose_socket(options, std::getenv));
  return options;
}

// The signal that ends it. Afterwards signals do what they always do: a second one kills.
TakenSignal wait_for_signal(std::unique_ptr<SignalWatch> signals, const Server& server) {
  while (true) {
    while (std::optional<TakenSignal> signal = signals->take()) {
      if (signal->number != SIGUSR1) return std::move(*signal);
      server.runtime()->host().log.info(to_text(server.describe()));
    }
    pollfd event{signals->descriptor(), POLLIN, 0};
    poll(&event, 1, -1);
  }
}

// A host that can't be looked up is as wrong on the command line as one of another machine.
Status start_error(const Status& status) {
  return status.code() == Code::not_found ? invalid(status.message()) : status;
}

Status check_witness(const WitnessFlags& flags) {
  if (flags.stands_by_for.empty() != flags.at.empty())
    return invalid("--stands-by-for says for whom, and --at at which address: both, or neither");
  return {};
}

// The signal that ended it.
Result<std::string> serve(const ServeFlags& flags, const std::vector<std::string>& rest,
                          const std::shared_ptr<TaskReport>& report) {
  MR_TRY(check_witness(flags.witness));
  MR_ASSIGN(TaskIdentity identity, identify(flags, rest));
  for (const std::string& note : identity.notes) std::cerr << "millrace serve: " << note << "\n";
  MR_ASSIGN(ServerOptions options, options_of(flags, std::move(identity)));
  options.report = report;

  // Before the server's threads are there, which then leave the signals to this one.
  auto signals = std::make_unique<SignalWatch>(std::initializer_list<int>{SIGUSR1});
  const std::shared_ptr<Runtime> runtime = Runtime::create();
  MR_ASSIGN(const Witnessed witnessed, take_witness(options, runtime));
  if (witnessed.is_side) {
    MR_ASSIGN(const TakenSignal signal,
              serve_paired(std::move(options), witnessed, runtime, std::move(signals)));
    return to_text(signal);
  }
  Result<std::unique_ptr<Server>> started = Server::start(std::move(options), runtime);
  if (!started.ok()) return start_error(started.status());
  Server& server = **started;
  const std::string name = short_name(server.task());
  const std::string& address = flags.bind_host.empty() ? server.address() : server.bound_address();
  std::cout << "serving " << name << " at " << address << std::endl;

  const TakenSignal signal = wait_for_signal(std::move(signals), server);
  const std::string reason = to_text(signal);
  server.runtime()->host().log.named(name).info("is stopped by ", reason);
  // Commands are nothing for other machines to know.
  MR_TRY(server.stop(
      unavailable(server.task().to_string(), " was stopped by ", signal_text(signal.number))));
  std::cout << name << " stopped: " << reason << std::endl;
  return reason;
}

int serve_and_tell(const ServeFlags& flags, const std::vector<std::string>& rest) {
  const std::shared_ptr<TaskReport> report = take_report(std::getenv);
  const Result<std::string> signal = serve(flags, rest, report);
  TaskEnds ends = end_of(signal.status());
  if (signal.ok()) ends.stopped_by = *signal;
  if (report) report->tell_end(ends);
  return signal.ok() ? kDone : complain("serve", signal.status());
}

}  // namespace

void add_serve(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb = app.add_subcommand("serve", "Serve as one task of a cluster");
  verb->footer(kServeFooter);
  verb->allow_extras();  // --<job>_hosts, --job_name, --task_index: read_cluster_flags() knows them
  verb->add_option(kClusterFlags, flags->cluster_file, "JSON: a cluster, or a whole TF_CONFIG")
      ->type_name("FILE");
  verb->add_option("--bind", flags->bind_host, "Address of this machine to listen on")
      ->type_name("HOST");
  verb->add_option("--cpu-devices", flags->cpu_devices, "How many CPU devices the task has (1)")
      ->type_name("N")
      ->check(whole_number(1, kMostDevices));
  verb->add_option("--state", flags->state_folder,
                   "Keeps the task's variables and named queues on this disk, in JOB-INDEX below "
                   "this folder: a step answers when what it changed is there, and who serves as "
                   "this task again goes on with them (they go with the process)")
      ->type_name("DIR");
  verb->add_option("--state-keeps", flags->state_keeps,
                   "What --state keeps: all, or asked: those that ask for it, by durable=True "
                   "(what MILLRACE_STATE_KEEPS says, or all)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"all", "asked"}));
  verb->add_option("--witness", flags->witness.witness,
                   "The task that says who owns the states of this cluster that two tasks have: "
                   "all name the same one, and that one itself")
      ->type_name("TASK");
  verb->add_option("--stands-by-for", flags->witness.stands_by_for,
                   "Has the state of this task, too, and takes it over when that one is gone")
      ->type_name("TASK");
  verb->add_option("--at", flags->witness.at, "Where a task that stands by is to be reached")
      ->type_name("HOST:PORT");
  verb->add_option("--suspect-after-ms", flags->witness.silence_ms,
                   "With --witness: how long the other task that has the state may be silent "
                   "before the witness is asked who owns it (1000)")
      ->type_name("N")
      ->check(whole_number(50, 600'000));
  verb->add_option("--operation-timeout-ms", flags->operation_timeout_ms,
                   "Ends steps of sessions that set no limit of their own (none)")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  verb->add_option("--silence-limit-ms", flags->silence_limit_ms,
                   "Gives up another task that owes an answer and is silent for so long, even when "
                   "asked whether it is there: frozen, or cut off; 0 waits for ever (what "
                   "MILLRACE_SILENCE_LIMIT_MS says, or 15000)")
      ->type_name("N")
      ->check(whole_number(0, std::numeric_limits<int>::max()));
  verb->add_option("--intra-op-threads", flags->threads.intra_op,
                   "How many threads may work at once on one session's kernels where these share "
                   "their work, for sessions that don't say (all that there are)")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  verb->add_option("--inter-op-threads", flags->threads.inter_op,
                   "How many kernels of a step may run at once, for sessions that don't say (as "
                   "many as there are threads)")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<int>::max()));
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb] { return serve_and_tell(*flags, verb->remaining()); };
  });
}

}  // namespace millrace
