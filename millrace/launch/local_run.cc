#include "millrace/launch/local_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/journal.h"
#include "millrace/launch/journal_sight.h"
#include "millrace/launch/local_attempts.h"
#include "millrace/launch/local_console.h"
#include "millrace/launch/local_descendants.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/local_gathering.h"
#include "millrace/launch/local_journal.h"
#include "millrace/launch/local_memory.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/local_scaling.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/poll_time.h"
#include "millrace/launch/supervision.h"

namespace millrace {
namespace {

using Lines = Console::Options::Lines;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Clock::Duration kProgressOnTerminal = seconds(1);
constexpr Clock::Duration kProgressElsewhere = seconds(10);
constexpr Clock::Duration kLookForWishes = seconds(1);
constexpr int kSignalComesWithin = 1000;  // milliseconds
constexpr int kSweeps = 100;
constexpr int kSweepMilliseconds = 20;
constexpr Clock::Duration kSweep = milliseconds(kSweepMilliseconds);

Result<std::vector<HeldPort>> hold_ports(const JobSpec& job) {
  std::vector<HeldPort> ports;
  for (size_t i = 0; i < count_planned(job); ++i) {
    int wanted = job.first_port ? *job.first_port + static_cast<int>(i) : 0;
    MR_ASSIGN(HeldPort port, HeldPort::bind(job.host, wanted));
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<int> numbers(const std::vector<HeldPort>& ports) {
  std::vector<int> list;
  list.reserve(ports.size());
  for (const HeldPort& port : ports) list.push_back(port.port());
  return list;
}

Status check_directory(const JobSpec& job) {
  std::error_code ignored;
  if (job.directory.empty() || std::filesystem::is_directory(job.directory, ignored)) return {};
  return invalid("--cwd ", job.directory, ": no such directory");
}

// Pipes must not get the numbers of standard streams that the launcher was started without.
void open_standard_streams() {
  int number = open("/dev/null", O_RDWR);
  while (number >= 0 && number <= STDERR_FILENO) number = open("/dev/null", O_RDWR);
  close(number);
}

bool wants_colours() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::vector<std::string> task_names(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const TaskPlan& task : plan.tasks) names.push_back(task.name);
  return names;
}

// Of each task, the place of its role in the job.
std::vector<size_t> roles_of_tasks(const JobSpec& job) {
  std::vector<size_t> roles;
  for (size_t i = 0; i < job.roles.size(); ++i)
    roles.insert(roles.end(), static_cast<size_t>(most_of(job.roles[i])), i);
  return roles;
}

// Of the job's life before this one.
Journal journal_before(const JobSpec& job, const LocalRunOptions& options) {
  if (options.begins_again.empty() || options.folder.empty()) return {};
  return read_journal({.folder = options.folder, .job = job});
}

JournalStart journal_start(const JobSpec& job, const LocalRunOptions& options) {
  JournalStart start{.at = options.clock.now(),
                     .wall_micros = options.clock.wall_micros(),
                     .seed = options.random.next(),
                     .late = options.reach != nullptr,
                     .time_limit = job.time_limit,
                     .warning = options.warning,
                     .run = options.run,
                     .runs = options.runs};
  const Journal before = journal_before(job, options);
  if (!before.start) return start;
  start.life = before.start->life + 1;
  start.why = options.begins_again;
  start.attempts = attempts_in(before, supervised_tasks(job).size());
  return start;
}

std::string log_directory_of(const LocalRunOptions& options) {
  if (!options.log_directory.empty() || options.folder.empty()) return options.log_directory;
  return logs_in(options.folder);
}

Status make_directories(std::string_view what, const std::string& path) {
  std::error_code fault;
  std::filesystem::create_directories(path, fault);
  if (!fault) return {};
  return unavailable("can't make the ", what, " '", path, "': ", fault.message());
}

// Wishes come by the job's folder, and addresses have to be known before all are there.
bool can_scale(const LocalRunOptions& options) {
  return !options.folder.empty() && (options.reach == nullptr || options.reach->holds_places ||
                                     options.reach->announces_places);
}

// Who comes back on another machine has another address than the others know.
Status check_restarts(const JobSpec& job, const Reach& reach) {
  if (reach.comes_back) return {};
  return check_never_restarts(job, "elsewhere");
}

class LocalRun {
 public:
  // Either with a port for each task, or with the gathering of tasks that choose their own.
  LocalRun(const JobSpec& job, const LocalRunOptions& options, LaunchPlan plan,
           std::vector<HeldPort> ports, std::optional<LocalGathering> gathering)
      : job_(job),
        reach_(options.reach),
        guest_(options.guest),
        plan_(std::move(plan)),
        clock_(options.clock),
        gathering_(std::move(gathering)),
        began_(journal_start(job, options)),
        start_(began_.at),
        console_(task_names(plan_),
                 {.signals = signals_.descriptor(),
                  .colours = wants_colours(),
                  .lines = options.folder.empty() ? Lines::shown : Lines::hidden}),
        random_(began_.seed),
        supervision_(supervision_of(job, began_, random_)),
        memory_(job, plan_,
                options.reach == nullptr || options.reach->is_here ? TaskMemory::Where::here
                                                                   : TaskMemory::Where::elsewhere) {
    tasks_.reserve(plan_.tasks.size());
    for (size_t role : roles_of_tasks(job)) {
      const size_t i = tasks_.size();
      std::optional<HeldPort> port;
      if (!ports.empty()) port = std::move(ports[i]);
      const bool restarts = job.roles[role].restart.when != RestartPolicy::When::never;
      const bool comes_again = restarts || scales(job.roles[role]);
      tasks_.emplace_back(i, plan_.tasks[i], std::move(port),
                          comes_again ? TaskAttempts::Allowed::several : TaskAttempts::Allowed::one,
                          console_);
      if (options.reach != nullptr) tasks_.back().hear(*options.reach);
      if (i < began_.attempts.size()) tasks_.back().count_on(began_.attempts[i]);
    }
  }

  // The journal first, of which each life of a job has one: a second launcher must not touch its
  // logs.
  Status open(const LocalRunOptions& options) {
    MR_TRY(make_journal(options.folder));
    if (std::ranges::any_of(job_.roles, scales)) {
      MR_ASSIGN(LocalScaling scaling, LocalScaling::create(options.folder));
      scaling_.emplace(std::move(scaling));
      MR_TRY(keep_roster());
      for (TaskPlan& task : plan_.tasks)
        task.environment.emplace_back(kRosterVariable, roster_in(options.folder));
    }
    MR_TRY(open_logs(log_directory_of(options)));
    if (began_.runs > 0) {
      console_.note(begun_again_text(began_));
    } else if (began_.life > 1) {
      console_.note(
          str_cat("the job begins again, for the ", began_.life - 1, ". time: ", began_.why));
    }
    if (!memory_.why_not().empty())
      console_.note(str_cat("no task's memory is limited on this machine: ", memory_.why_not()));
    // With this it has begun.
    return journal_ ? journal_->flush() : Status();
  }

  JobReport run() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start_tasks();
    while (!supervision_.finished()) turn(supervision_.wake_at());
    wind_down();
    JobReport report = supervision_.report();
    report.begun_again = begun_again_text(began_);
    note(JournalEntry{clock_.now(), LaunchOver{}});
    write_journal();
    console_.set_progress("");
    console_.text(render(report));
    console_.flush();
    return report;
  }

 private:
  Status make_journal(const std::string& folder) {
    if (folder.empty()) return {};
    MR_TRY(make_directories("folder", folder));
    const auto readers =
        began_.late ? LocalJournal::Readers::elsewhere : LocalJournal::Readers::here;
    MR_ASSIGN(LocalJournal journal, LocalJournal::create(journal_in(folder, began_.life), readers));
    journal.add(began_);
    journal_.emplace(std::move(journal));
    return {};
  }

  Status open_logs(const std::string& directory) {
    if (directory.empty()) return {};
    MR_TRY(make_directories("log directory", directory));
    for (TaskAttempts& task : tasks_) MR_TRY(task.keep_logs(directory));
    return {};
  }

  void start_tasks() {
    // Five descriptors per task.
    files_ = raise_descriptor_limit();
    if (announces()) return announce_places();
    for (size_t i = 0; i < tasks_.size() && !supervision_.stopping(); ++i) {
      if (!supervision_.is_absent(i)) {
        start_task(i);
      } else if (gathering_) {
        hold_place(i);
      }
      heed_signals();
    }
    write_journal();
  }

  // The others wait: they would take the room in which absent tasks are to say where they can be.
  void announce_places() {
    for (size_t i = 0; i < tasks_.size() && !supervision_.stopping(); ++i)
      if (supervision_.is_absent(i)) hold_place(i);
    starts_when_announced_ = true;
    start_when_announced();
    write_journal();
  }

  void start_when_announced() {
    if (!starts_when_announced_ || !held_.empty() || !leaving_.empty()) return;
    starts_when_announced_ = false;
    for (size_t i = 0; i < tasks_.size() && !supervision_.stopping(); ++i) {
      if (!supervision_.is_absent(i) && !tasks_[i].restart_asked() && tasks_[i].attempt() == 0)
        start_task(i);
      heed_signals();
    }
  }

  bool announces() const { return gathering_ && scaling_ && reach_->announces_places; }

  void start_task(size_t index) {
    const Status started = begin_process(index, Gathering::ForNow::runs);
    if (started.ok()) return tell(TaskStarted{index});
    tell(TasksEnded{{{index, {.start_error = started.message()}}}});
  }

  Status begin_process(size_t index, Gathering::ForNow for_now) {
    if (gathering_) gathering_->begins(index, tasks_[index].attempt() + 1, for_now);
    stay_on_machine(index);
    MR_ASSIGN(std::string group, memory_.group_of(index));
    return tasks_[index].start({.directory = job_.directory,
                                .group = std::move(group),
                                .ports = job_.ports,
                                .files = files_,
                                .left_alone = reach_ ? reach_->cleans_up_within : milliseconds(0)});
  }

  // --- places of absent tasks that run elsewhere (docs/design/scaling.md) ---

  // Of one that is absent: the process of its next attempt, which comes, and waits to be wanted.
  void hold_place(size_t index) {
    held_.insert(index);
    const Status started = begin_process(index, Gathering::ForNow::holds);
    if (!started.ok()) lose_place(index, {.start_error = started.message()});
  }

  // Again of those that have gone; nobody's at the end.
  void hold_places() {
    if (!gathering_ || !scaling_) return;
    if (supervision_.stopping()) return leave_places();
    if (announces()) return;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const bool is_free = supervision_.is_absent(i) && !held_.contains(i) && !unheld_.contains(i);
      if (is_free && tasks_[i].is_gone() && !lost_.contains(i)) hold_place(i);
    }
  }

  void leave_places() {
    for (size_t task : std::exchange(held_, {})) tasks_[task].terminate();
  }

  // The task whose place was held is wanted: its attempt begins.
  void use_place(size_t index) {
    held_.erase(index);
    tasks_[index].give_up_restart();
    gathering_->wanted(index);
    tell(TaskStarted{index});
  }

  // Before all were there, nobody can begin without it.
  void lose_place(size_t index, const ExitFacts& facts) {
    held_.erase(index);
    const std::string why = classify(facts, SentSignal::none).text;
    if (!gathering_->complete()) {
      tell(TaskStarted{index});
      return tell(TasksEnded{{{index, {.start_error = "its place can't be held: " + why}}}});
    }
    unheld_.insert(index);
    tasks_[index].forget_attempt();
    console_.note(str_cat(plan_.tasks[index].name, ": its place is no longer held: ", why));
  }

  // Since all were there, the others look for it where it was.
  void stay_on_machine(size_t index) {
    const auto machine = machines_.find(index);
    if (!gathering_ || machine == machines_.end()) return;
    if (!gathering_->complete() && !announced_.contains(index)) return;
    if (!reach_->back_at || !staying_.insert(index).second) return;
    std::vector<std::string>& command = plan_.tasks[index].argv;
    command = reach_->back_at(std::move(command), machine->second);
  }

  // Those whose pause is over, as soon as nothing is left of what they were.
  void start_again() {
    // Only when a keeper has ended have those whom it kept come to this process.
    std::erase_if(lost_, [this](size_t task) {
      return tasks_[task].is_gone() && end_children_except(keepers()) == 0;
    });
    for (size_t i = 0; i < tasks_.size() && !supervision_.stopping(); ++i) {
      const std::optional<Clock::Time> asked = tasks_[i].restart_asked();
      if (!asked) continue;
      if (held_.contains(i)) {
        use_place(i);
      } else if (tasks_[i].is_gone() && !lost_.contains(i) && !leaving_.contains(i)) {
        unheld_.erase(i);
        start_task(i);
      } else if (clock_.now() - *asked > kPatience) {
        tasks_[i].give_up_restart();
        tell(
            TasksEnded{{{i, {.start_error = "what it had started is still there after SIGKILL"}}}});
      }
    }
  }

  std::vector<pid_t> keepers() const {
    std::vector<pid_t> list;
    for (const TaskAttempts& task : tasks_) list.push_back(task.keeper());
    return list;
  }

  // Waits until something happens, and deals with all that has.
  void turn(std::optional<Clock::Time> wake_at) {
    wait(std::min(wake_at.value_or(next_progress_), next_progress_));
    read_gathering();
    serve_guest();
    read_outputs();
    read_ends();
    tell_of_missing();
    heed_signals();
    heed_wishes();
    start_when_announced();
    start_again();
    hold_places();
    if (console_.is_deserted() && !supervision_.stopping())
      tell(Interrupted{"its output, which nobody reads any more"});
    tell(TimePassed{});
    write_journal();
    show_progress();
    console_.flush();
  }

  void wait(Clock::Time until) {
    events_.assign(1, pollfd{signals_.descriptor(), POLLIN, 0});
    if (gathering_) gathering_->add_descriptors(events_);
    if (guest_ != nullptr) guest_->add_descriptors(events_);
    if (scaling_) scaling_->add_descriptors(events_);
    // Of what other machines write to files there is no word.
    if (scaling_ && gathering_) until = std::min(until, clock_.now() + kLookForWishes);
    for (const TaskAttempts& task : tasks_) {
      task.add_descriptors(events_);
      // No descriptor tells that a process is gone.
      if (task.restart_asked() || !lost_.empty()) until = std::min(until, clock_.now() + kSweep);
    }
    poll(events_.data(), events_.size(), poll_milliseconds(until, clock_.now()));
  }

  // What tasks of other machines tell about themselves comes over their connections.
  void read_gathering() {
    if (!gathering_) return;
    for (const Gathering::Action& action : gathering_->turn(clock_.now())) {
      if (const auto* it = std::get_if<Gathering::Recorded>(&action))
        tasks_[it->task].take_record(it->line);
      if (const auto* it = std::get_if<Gathering::Came>(&action)) came(*it);
      if (const auto* it = std::get_if<Gathering::Note>(&action)) console_.note(it->text);
    }
  }

  void serve_guest() {
    if (guest_ == nullptr) return;
    for (const std::string& text : guest_->turn(clock_.now())) console_.note(text);
  }

  void came(const Gathering::Came& task) {
    note(JournalEntry{clock_.now(), TaskCame{task.task, task.address, task.machine, task.guests}});
    if (!task.machine.empty()) machines_[task.task] = task.machine;
    if (announces() && held_.erase(task.task) > 0) {
      announced_.insert(task.task);
      leaving_.insert(task.task);
    }
    plan_.tasks[task.task].address = task.address;
    if (scaling_) write_roster();
  }

  void read_outputs() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].read();
      if (auto others = tasks_[i].take_waits()) tell(TaskWaits{i, std::move(*others)});
    }
  }

  // Those that are there already wait for them, which may be in vain.
  void tell_of_missing() {
    if (!gathering_ || gathering_->complete() || supervision_.num_ended() == 0) return;
    const std::vector<std::string> others = gathering_->missing(tasks_.size()).tasks;
    for (size_t i = 0; i < tasks_.size(); ++i) tell(TaskWaits{i, others});
  }

  void read_ends() {
    TasksEnded ended;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const std::optional<ProcessEnd> end = tasks_[i].take_end();
      if (!end) continue;
      read_gathering();
      if (end->lost) lost_.insert(i);
      if (leaving_.erase(i) > 0) {
        note(JournalEntry{clock_.now(), TaskLeft{i}});
        tasks_[i].forget_attempt();
        continue;
      }
      if (held_.contains(i)) {
        lose_place(i, facts_of(*end, i));
        continue;
      }
      ended.ends.push_back({i, facts_of(*end, i), memory_of(*end)});
      if (ended.ends.back().facts.by_hand) await_signal();
    }
    if (!ended.ends.empty()) tell(ended);
  }

  // Who ends the whole job by hand ends its tasks, too, and they may be quicker.
  void await_signal() {
    if (supervision_.stopping()) return;
    pollfd signal{signals_.descriptor(), POLLIN, 0};
    poll(&signal, 1, kSignalComesWithin);
    heed_signals();
  }

  ExitFacts facts_of(const ProcessEnd& end, size_t index) {
    ExitFacts facts = tasks_[index].facts_of(end);
    memory_.explain(index, facts);
    return facts;
  }

  std::optional<int64_t> memory_of(const ProcessEnd& end) const {
    // Of a task elsewhere, only what reaches out for it is known here.
    if (end.peak_memory == 0 || gathering_) return {};
    return end.peak_memory;
  }

  void heed_signals() {
    while (const std::optional<TakenSignal> signal = signals_.take()) {
      console_.hurry();
      tell(Interrupted{to_text(*signal)});
    }
  }

  // --- other numbers of tasks ---

  void heed_wishes() {
    if (!scaling_) return;
    for (const ScaleWish& wish : scaling_->take()) {
      Status may = check_scaling(job_, wish.counts);
      if (supervision_.stopping()) may = failed_precondition("the job is ending");
      if (!may.ok()) {
        console_.note(str_cat(wish.by, " asks for other numbers of tasks: ", may.message()));
        note(JournalEntry{clock_.now(), WishRefused{wish.id, std::string(may.message())}});
        continue;
      }
      for (const auto& [name, count] : wish.counts) {
        const auto role = std::ranges::find(job_.roles, name, &RoleSpec::name);
        tell(RoleScaled{.role = static_cast<size_t>(role - job_.roles.begin()),
                        .count = count,
                        .by = wish.by,
                        .wish = wish.id});
      }
    }
  }

  // The tasks learn from it for whom not to wait.
  Status keep_roster() {
    AbsentTasks absent;
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (supervision_.is_absent(i)) absent.emplace(plan_.tasks[i].name, plan_.tasks[i].address);
    return scaling_->keep_roster(std::move(absent));
  }

  void write_roster() {
    if (const Status kept = keep_roster(); !kept.ok()) console_.note(kept.message());
  }

  void note(const JournalEntry& entry) {
    if (journal_) journal_->add(entry);
  }

  void write_journal() {
    if (!journal_) return;
    if (const Status written = journal_->flush(); !written.ok()) console_.note(written.message());
  }

  // What changes nothing, and comes again and again.
  static bool is_idle(const SupervisionEvent& event) {
    return std::holds_alternative<TimePassed>(event) || std::holds_alternative<TaskWaits>(event);
  }

  void tell(const SupervisionEvent& event) {
    const Clock::Time now = clock_.now();
    const std::vector<SupervisionAction> actions = supervision_.on(event, now);
    if (!actions.empty() || !is_idle(event)) note({now, event});
    // Before anybody starts who is on it.
    if (scaling_) write_roster();
    for (const SupervisionAction& action : actions) {
      if (const auto* it = std::get_if<Terminate>(&action)) tasks_[it->task].terminate();
      if (const auto* it = std::get_if<Kill>(&action)) tasks_[it->task].kill();
      if (const auto* it = std::get_if<Warn>(&action)) warn(*it);
      if (const auto* it = std::get_if<Restart>(&action))
        tasks_[it->task].ask_restart(clock_.now());
      if (const auto* it = std::get_if<CallOff>(&action)) tasks_[it->task].give_up_restart();
      if (const auto* it = std::get_if<Say>(&action)) console_.note(it->text);
    }
  }

  // Of one that is still waiting for the others there is no program yet.
  void warn(const Warn& warning) {
    if (!gathering_ || gathering_->complete()) tasks_[warning.task].pass_on(warning.signal);
  }

  void show_progress() {
    Clock::Time now = clock_.now();
    std::string text = str_cat(
        supervision_.num_running(), " running, ", supervision_.num_ended(), " ended, ",
        resting_text(), duration_text(duration_cast<milliseconds>(now - start_)), missing_text());
    if (console_.shows_progress()) {
      console_.set_progress(str_cat("millrace: ", text));
    } else if (now >= next_progress_ && !journal_) {
      console_.note(text);
    }
    while (next_progress_ <= now) next_progress_ += progress_interval();
  }

  std::string resting_text() const {
    const size_t resting = supervision_.num_resting();
    return resting == 0 ? "" : str_cat(resting, " to start again, ");
  }

  // "; not there yet: map:0 and 3 more"
  std::string missing_text() const {
    if (!gathering_ || gathering_->complete()) return "";
    const StillMissing missing = gathering_->missing(3);
    std::string text = "; not there yet: ";
    const char* between = "";
    for (const std::string& task : missing.tasks) {
      str_append(&text, between, task);
      between = ", ";
    }
    if (missing.more > 0) str_append(&text, " and ", missing.more, " more");
    return text;
  }

  Clock::Duration progress_interval() const {
    return console_.shows_progress() ? kProgressOnTerminal : kProgressElsewhere;
  }

  // The tasks have ended; what they started may not have. The keepers see to that, and if one was
  // killed, its orphans have come to this process.
  void wind_down() {
    Clock::Time end = clock_.now() + kPatience;
    for (TaskAttempts& task : tasks_) task.kill();
    while (has_open_pipes() && clock_.now() < end && !interrupted_) {
      bool keepers_left = has_keepers();
      if (!keepers_left) kill_children();
      wait(keepers_left ? end : clock_.now() + kSweep);
      read_outputs();
      for (TaskAttempts& task : tasks_) (void)task.take_end();
      if (signals_.take()) interrupted_ = true;
      console_.flush();
    }
    for (TaskAttempts& task : tasks_) {
      task.finish_output();
      task.reap();
    }
    for (int i = 0; i < kSweeps && waitpid(-1, nullptr, WNOHANG) >= 0; ++i) {
      kill_children();
      poll(nullptr, 0, kSweepMilliseconds);
    }
  }

  bool has_keepers() const { return std::ranges::any_of(tasks_, &TaskAttempts::has_keeper); }

  bool has_open_pipes() const { return std::ranges::any_of(tasks_, &TaskAttempts::has_open_pipes); }

  const JobSpec& job_;
  const Reach* const reach_;  // null: the tasks run here
  PollGuest* const guest_;    // null: nobody
  LaunchPlan plan_;
  const Clock& clock_;
  std::optional<LocalGathering> gathering_;
  const JournalStart began_;
  const Clock::Time start_;
  SignalWatch signals_;
  Console console_;
  SeededRandom random_;
  Supervision supervision_;
  std::map<size_t, std::string> machines_;  // of tasks elsewhere: what theirs is called
  std::set<size_t> staying_;                // whose commands name their machine
  std::set<size_t> held_;                   // absent, and their places are held
  std::set<size_t> unheld_;                 // absent, and who held their places is gone
  std::set<size_t> announced_;              // which have said where they can be
  std::set<size_t> leaving_;                // of those: whose process for that is not gone yet
  bool starts_when_announced_ = false;      // and none has been started for another reason
  std::optional<LocalJournal> journal_;
  std::optional<LocalScaling> scaling_;  // of a job that may be scaled
  std::vector<TaskAttempts> tasks_;
  std::vector<pollfd> events_;
  Clock::Time next_progress_ = start_ + progress_interval();
  rlimit files_ = {};      // what the tasks start with
  std::set<size_t> lost_;  // whose keepers were killed: they may have left processes
  TaskMemory memory_;
  bool interrupted_ = false;
};

struct Prepared {
  LaunchPlan plan;
  std::vector<HeldPort> ports;
  std::optional<LocalGathering> gathering;
};

Result<Prepared> prepare_here(const JobSpec& job) {
  MR_ASSIGN(std::vector<HeldPort> ports, hold_ports(job));
  LaunchPlan plan = plan_launch(job, numbers(ports));
  return Prepared{std::move(plan), std::move(ports), std::nullopt};
}

Result<Prepared> prepare_elsewhere(const JobSpec& job, const LocalRunOptions& options) {
  MR_TRY(check_restarts(job, *options.reach));
  const Reach& reach = *options.reach;
  JobSpec told = job;
  if (std::ranges::any_of(job.roles, scales))
    told.environment.emplace_back(kRosterVariable, roster_in(options.folder));
  MR_ASSIGN(LocalGathering gathering,
            LocalGathering::listen(
                told, reach.listen_host, options.token,
                reach.announces_places ? Gathering::Absent::announce : Gathering::Absent::hold));
  const std::string supervisor = HostPort{reach.known_as, gathering.port()}.to_string();
  LaunchPlan plan = plan_elsewhere(job, reach, supervisor, options.token);
  return Prepared{std::move(plan), {}, std::move(gathering)};
}

}  // namespace

Result<JobReport> run_locally(const JobSpec& given, const LocalRunOptions& options) {
  MR_TRY(check(given));
  MR_TRY(check_no_cluster_secrets(given, "here"));
  if (const Journal before = journal_before(given, options); has_succeeded(given, before)) {
    remove_secrets(options.folder);
    return report_of(given, before);
  }
  MR_ASSIGN(const SecretValues secrets,
            take_secrets(given, options.folder,
                         options.may_begin_again ? KeptSecrets::kept : KeptSecrets::removed));
  hide_sources(given);
  // It holds the values, and is shown to nobody.
  const JobSpec job = with_secrets(can_scale(options) ? given : of_fixed_size(given), secrets);
  MR_TRY(check_directory(job));
  open_standard_streams();
  MR_ASSIGN(Prepared prepared,
            options.reach == nullptr ? prepare_here(job) : prepare_elsewhere(job, options));
  LocalRun run(job, options, std::move(prepared.plan), std::move(prepared.ports),
               std::move(prepared.gathering));
  MR_TRY(run.open(options));
  JobReport report = run.run();
  if (report.end == JobEnd::succeeded && options.may_begin_again) remove_secrets(options.folder);
  return report;
}

Result<std::string> describe_local_run(const JobSpec& given) {
  MR_TRY(check(given));
  MR_TRY(check_no_cluster_secrets(given, "here"));
  const JobSpec job = of_fixed_size(given);
  MR_TRY(check_directory(job));
  MR_ASSIGN(std::vector<HeldPort> ports, hold_ports(job));
  return describe(plan_launch(job, numbers(ports)), job);
}

Result<std::string> describe_run_elsewhere(const JobSpec& given, const Reach& reach) {
  MR_TRY(check(given));
  MR_TRY(check_no_cluster_secrets(given, "there"));
  const JobSpec job = of_fixed_size(given);
  MR_TRY(check_directory(job));
  MR_TRY(check_restarts(job, reach));
  return describe(plan_elsewhere(job, reach, str_cat(reach.known_as, ":PORT"), "TOKEN"), job);
}

}  // namespace millrace
