// Part of verbs.h: `millrace run`.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/base/random.h"
#include "millrace/bin/job_flags.h"
#include "millrace/bin/places.h"
#include "millrace/bin/run_in_yarn.h"
#include "millrace/bin/shipping_here.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/local_run.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/shipping/command_by_ssh.h"
#include "millrace/launch/shipping/scratch.h"
#include "millrace/launch/slurm/answers.h"
#include "millrace/launch/slurm/array_runs.h"
#include "millrace/launch/slurm/srun.h"
#include "millrace/launch/ssh.h"

namespace millrace {
namespace {

constexpr const char* kRunFooter =
    R"(Every task gets a port, TF_CONFIG and PYTHONUNBUFFERED=1, and runs the same COMMAND. Its port is
bound before it starts and handed over as descriptor MILLRACE_LISTEN_FD, so that nobody can take it.

The job succeeds when all tasks of the --until jobs have; the other tasks are then ended. A task has
succeeded when it ends with code 0, or of the end of its input (an error that says that a queue is
closed and empty). A task that fails ends the job, unless --restart or the job file says otherwise: it
is then started again with the same port, after a pause. Ctrl-C ends everything, a second one at once.
Nothing that a task started outlives this command.

Examples:
  millrace run word_count.yaml                            what the file says: docs/job_file.md
  millrace run --job files=1 --job reduce=1 --job map=2 --until map -- python3 word_count.py
  millrace run --job ps=1 --job worker=4 --log-dir logs --timeout 2h -- python3 train.py --steps 1000
  millrace run --job ps=1 --job worker=4 --restart ps=100 --restart worker=100 -- python3 train.py
  millrace run --job worker=2 --release-ports -- ./a_program_that_binds_its_port_itself
  millrace run --on k8s word_count.yaml                   submit it there, follow it to its end
  millrace run --on slurm word_count.yaml
  millrace run --on yarn word_count.yaml
  millrace run --on ssh --hosts n1,n2,n3 word_count.yaml  on machines that are known by name alone

Exit codes: 0 the job succeeded, 1 it failed, 2 the command line makes no sense, 130 interrupted.)";

// More than the run before may take to end, for Slurm to see that it has.
constexpr std::chrono::seconds kForEarlierRun{90};

// The flags as they stand on the command line.
struct RunFlags {
  JobFlags job;
  std::string where = "local";
  std::string host;
  std::string log_directory;
  std::string folder;
  std::vector<std::string> hosts;
  bool ship_millrace = false;
  int first_port = 0;
  bool release_ports = false;
  bool dry_run = false;
  SubmitFlags submitted;
};

Result<JobSpec> local_job_of(const RunFlags& flags, const std::vector<std::string>& extras,
                             const std::vector<std::string>& command) {
  MR_ASSIGN(JobSpec job, job_of(flags.job, extras, command));
  if (!flags.host.empty()) job.host = flags.host;
  if (flags.first_port != 0) job.first_port = flags.first_port;
  if (flags.release_ports) job.ports = PortHandling::released;
  MR_TRY(check(job));
  return job;
}

// Where machines have this very `millrace`, if it is to go along.
Result<std::map<std::string, std::string>> command_folders(const RunFlags& flags) {
  if (!flags.ship_millrace || flags.dry_run) return std::map<std::string, std::string>();
  for (const std::string& host : flags.hosts) MR_TRY(check_host(host));
  MR_ASSIGN(const std::string program, own_program());
  MR_ASSIGN(const std::string scratch, own_scratch(scratch_base()));
  return bring_command({.hosts = flags.hosts, .program = program, .scratch = scratch},
                       Clock::real());
}

// How the tasks are got at, unless they run on this machine.
Result<std::optional<Reach>> reach_of(const RunFlags& flags, const JobSpec& job) {
  if (flags.where != "ssh" && !flags.hosts.empty())
    return invalid("--hosts ", flags.hosts[0], ": it goes with --on ssh");
  if (flags.where != "ssh" && flags.ship_millrace)
    return invalid("--ship-millrace: it goes with --on ssh");
  if (flags.where == "local" && !has_task_folders(job)) return std::optional<Reach>();
  if (flags.where == "local") {
    MR_ASSIGN(Reach reach, reach_here(job));
    return std::optional<Reach>(std::move(reach));
  }
  const std::string known_as = flags.host.empty() ? host_name() : flags.host;
  if (flags.where == "ssh") {
    if (job.ports == PortHandling::released)
      return invalid("--on ssh: tasks elsewhere get their ports bound; leave out --release-ports");
    MR_ASSIGN(auto folders, command_folders(flags));
    MR_ASSIGN(Reach reach, ssh_reach(job, flags.hosts, known_as, std::move(folders)));
    return std::optional<Reach>(std::move(reach));
  }
  if (flags.where != "srun")
    return invalid("--on ", flags.where, ": there are ssh, srun in an allocation of Slurm, ",
                   place_names());
  if (std::getenv("SLURM_JOB_ID") == nullptr)
    return invalid(
        "--on srun: this is no allocation of Slurm; ask for one with salloc, or with "
        "millrace explain FILE --on slurm | sbatch");
  if (job.ports == PortHandling::released)
    return invalid("--on srun: tasks elsewhere get their ports bound; leave out --release-ports");
  return std::optional<Reach>(srun_reach(job, known_as));
}

// What is left of the allocation's time, but for what ending the tasks takes: the job then fails
// for its time and says so, before Slurm ends it. Where it can't be asked, Slurm's signal comes.
void keep_within_allocation(JobSpec& job, const ArrayRun& run) {
  std::string number = variable("SLURM_JOB_ID");
  if (number.empty()) return;
  // The number of its last run is that of the whole array, too.
  if (run.number > 0) number = str_cat(run.array, "_", run.number);
  const auto answer =
      run_command({"squeue", "--noheader", str_cat("--jobs=", number), "--format=%L"}, "",
                  std::chrono::seconds(10), Clock::real());
  if (!answer.ok() || answer->code != 0) return;
  // A heterogeneous job has a line for each part; all have one limit.
  const auto left = parse_time_left(answer->out.substr(0, answer->out.find('\n')));
  if (!left) return;
  const std::chrono::milliseconds most = *left - time_to_end(job) - std::chrono::seconds(5);
  const std::chrono::milliseconds limit =
      std::max<std::chrono::milliseconds>(most, std::chrono::seconds(1));
  if (!job.time_limit || *job.time_limit > limit) job.time_limit = limit;
}

// Why Slurm runs a job once more; empty: it does so for the first time.
std::string begun_again_by_slurm(const JobSpec& job, const std::string& folder,
                                 const ArrayRun& run) {
  if (folder.empty()) return "";
  const std::string count = variable("SLURM_RESTART_COUNT");
  const bool is_requeued = job.slurm.requeue && !count.empty() && count != "0";
  if (!is_requeued && run.number <= 1) return "";
  const std::string log = last_text(launcher_log_in(folder));
  if (is_requeued) return requeue_reason(log);
  return end_of_run(job, read_journal({.folder = folder, .job = job}), log);
}

ArrayRun own_array_run(const JobSpec& job) {
  return array_run_of(job, variable("SLURM_ARRAY_JOB_ID"), variable("SLURM_ARRAY_TASK_ID"));
}

// Of a job that runs several times.
void await_run_before_of(const ArrayRun& run, const JobSpec& job) {
  const Status gone = await_run_before(run, time_to_end(job) + kForEarlierRun, Clock::real());
  if (!gone.ok()) std::cerr << "millrace: " << gone.message() << "; this run begins all the same\n";
}

// After a success. If they can't be called off, each of them finds that there was one, and ends.
void call_off_other_runs_of(const ArrayRun& run) {
  const Status done = call_off_other_runs(run.array, Clock::real());
  if (!done.ok())
    std::cerr << "millrace: its other runs can't be called off: " << done.message() << "; scancel "
              << run.array << " does that\n";
}

// In a place that keeps the job: submitted, and followed to its end.
int run_in_place(const RunFlags& flags, const std::vector<std::string>& extras,
                 const std::vector<std::string>& command) {
  if (flags.dry_run)
    return complain("run", invalid("--dry-run: millrace explain --on ", flags.where,
                                   " shows what would be submitted"));
  if (!flags.host.empty() || flags.first_port != 0 || flags.release_ports || !flags.folder.empty())
    return complain("run",
                    invalid("--folder, --host, --ports and --release-ports are of this machine; "
                            "leave them out with --on ",
                            flags.where));
  const Result<JobSpec> job = job_of(flags.job, extras, command);
  if (!job.ok()) return complain("run", job.status());
  PlaceFlags place = flags.submitted.place;
  place.where = flags.where;
  return run_there(*job, place, flags.submitted, flags.log_directory);
}

int run(const RunFlags& flags, const std::vector<std::string>& extras,
        const std::vector<std::string>& command) {
  // "local" is here, before the user's eyes; `millrace submit --on local` leaves it alone.
  if (flags.where != "local" && is_place(flags.where)) return run_in_place(flags, extras, command);
  Result<JobSpec> job = local_job_of(flags, extras, command);
  if (!job.ok()) return complain("run", job.status());
  if (flags.where == "yarn-am")
    return run_in_yarn(*job, {.folder = flags.folder, .log_directory = flags.log_directory});
  Result<std::optional<Reach>> reach = reach_of(flags, *job);
  if (!reach.ok()) return complain("run", reach.status());
  if (flags.dry_run) {
    Result<std::string> plan =
        *reach ? describe_run_elsewhere(*job, **reach) : describe_local_run(*job);
    if (!plan.ok()) return complain("run", plan.status());
    const Result<std::string> shipping = describe_shipping(*job);
    if (!shipping.ok()) return complain("run", shipping.status());
    std::cout << *shipping << *plan;
    return kDone;
  }
  const std::string token = new_secret(*make_random());
  std::unique_ptr<FileServer> files;
  if (*reach) {
    auto ships = ship_along(*job, token, **reach);
    if (!ships.ok()) return complain("run", ships.status());
    files = *std::move(ships);
  }
  const bool by_slurm = *reach && flags.where == "srun";
  const bool warns = by_slurm && job->slurm.warn.count() > 0;
  const ArrayRun array_run = by_slurm ? own_array_run(*job) : ArrayRun();
  const bool may_begin_again =
      by_slurm &&
      (job->slurm.requeue || (array_run.number > 0 && array_run.number < job->slurm.runs));
  if (array_run.number > 0) await_run_before_of(array_run, *job);
  if (by_slurm && (!flags.folder.empty() || warns)) keep_within_allocation(*job, array_run);
  std::optional<TimeWarning> warning;
  if (warns) warning = TimeWarning{job->slurm.warn, warn_signal_of(job->slurm)};
  const std::string again = by_slurm ? begun_again_by_slurm(*job, flags.folder, array_run) : "";
  const auto random = make_random();
  Result<JobReport> report = run_locally(*job, {.log_directory = flags.log_directory,
                                                .folder = flags.folder,
                                                .may_begin_again = may_begin_again,
                                                .begins_again = again,
                                                .run = array_run.number,
                                                .runs = array_run.number > 0 ? job->slurm.runs : 0,
                                                .warning = warning,
                                                .reach = *reach ? &**reach : nullptr,
                                                .token = token,
                                                .guest = files.get(),
                                                .clock = Clock::real(),
                                                .random = *random});
  if (!report.ok()) return complain("run", report.status());
  if (array_run.number > 0 && report->end == JobEnd::succeeded) call_off_other_runs_of(array_run);
  return exit_code(*report);
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* verb = app.add_subcommand("run", "Run a cluster of tasks on this machine");
  verb->footer(kRunFooter);
  add_job_flags(*verb, flags->job);
  verb->add_option("--log-dir", flags->log_directory, "Also write DIR/map_0.log and so on")
      ->type_name("DIR");
  verb->add_option("--folder", flags->folder,
                   "Keep the job's journal and logs there and show no lines, as submit has it done")
      ->type_name("DIR");
  verb->add_option(
          "--on", flags->where,
          "Where the tasks run: local, ssh, srun in an allocation of Slurm, k8s, slurm, or yarn")
      ->type_name("PLACE")
      ->capture_default_str();
  verb->add_option(
          "--host", flags->host,
          "Address that the tasks listen on (127.0.0.1); with --on srun and ssh, by which they "
          "find this machine (its name)")
      ->type_name("HOST");
  verb->add_option("--hosts", flags->hosts,
                   "With --on ssh: the machines, which the tasks go to in turn, as ssh takes them")
      ->type_name("HOST,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_flag("--ship-millrace", flags->ship_millrace,
                 "With --on ssh: bring the millrace command along, too, to machines that lack it");
  verb->add_option("--ports", flags->first_port, "First port; the tasks get this and the following")
      ->type_name("PORT")
      ->check(whole_number(1, 65535));
  verb->add_flag(
      "--release-ports", flags->release_ports,
      "Free each port just before its task starts: for programs that bind it themselves");
  add_submit_flags(*verb, flags->submitted);
  verb->add_flag("--dry-run", flags->dry_run, "Print what would be started, and start nothing");
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb, &invocation] {
      return run(*flags, verb->remaining(), invocation.command);
    };
  });
}

}  // namespace millrace
