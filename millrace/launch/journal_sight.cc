#include "millrace/launch/journal_sight.h"

#include <algorithm>
#include <csignal>

#include "millrace/base/random.h"
#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using Stage = LauncherSight::Stage;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The machine of "n1:40123".
std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

std::string log_of(const KeptSight& seen, std::string stem, int attempt) {
  std::ranges::replace(stem, ':', '_');
  return str_cat(seen.log_directory, "/", stem, attempt > 1 ? str_cat(".", attempt) : std::string(),
                 ".log");
}

// Micros of the wall's clock at a moment of the launcher's.
int64_t wall_at(const JournalStart& start, Clock::Time at) {
  return start.wall_micros + duration_cast<microseconds>(at - start.at).count();
}

// The first so many attempts of a task.
void add_earlier(const KeptSight& seen, const std::string& task, int attempts, JobSight& sight) {
  for (int number = 1; number <= attempts; ++number)
    sight.earlier.push_back({.name = task,
                             .stage = TaskStage::ended,
                             .handle = log_of(seen, task, number),
                             .attempt = number});
}

class Replay {
 public:
  Replay(const JobSpec& job, const KeptSight& seen)
      : job_(job),
        seen_(seen),
        start_(*seen.journal.start),
        now_(start_.at),
        random_(start_.seed),
        supervision_(supervision_of(job, start_, random_)),
        tasks_(supervised_tasks(job).size()) {}

  JobSight see() {
    for (const JournalEntry& entry : seen_.journal.entries) {
      now_ = std::max(now_, entry.at);
      if (const auto* event = std::get_if<SupervisionEvent>(&entry.what)) tell(*event);
      if (const auto* left = std::get_if<TaskLeft>(&entry.what))
        tasks_[left->task].is_there = false;
      if (const auto* came = std::get_if<TaskCame>(&entry.what)) {
        tasks_[came->task].address = came->address;
        tasks_[came->task].machine = came->machine;
        tasks_[came->task].is_there = tasks_[came->task].was_there = !came->address.empty();
      }
    }
    const bool cut_off = seen_.launcher.stage == Stage::gone && !supervision_.finished();
    const bool was_decided = supervision_.stopping();
    if (cut_off) end_what_is_left();
    JobSight sight{.stage = stage(), .report = supervision_.report()};
    sight.report.begun_again = begun_again_text(start_);
    // Somebody did, when it had ended and waited to begin again.
    if (seen_.may_begin_again && seen_.journal.is_over() && seen_.launcher.cancelled) {
      sight.report.end = JobEnd::interrupted;
      sight.report.cause = why();
    }
    if (cut_off && !was_decided && !seen_.launcher.cancelled) {
      sight.report.end = JobEnd::failed;
      sight.report.cause = why();
    }
    if (!supervision_.finished())
      sight.report.time =
          milliseconds(std::max<int64_t>(0, (seen_.now_micros - start_.wall_micros) / 1000));
    add_tasks(sight);
    return sight;
  }

 private:
  enum class Phase : uint8_t { waiting, running, ended };
  struct Task {
    Phase phase = Phase::waiting;
    std::string address = {};
    std::string machine = {};
    bool is_there = false;   // of those that come: the one that is running or is to has
    bool was_there = false;  // and is to be there again
    bool was_started = false;
  };

  void tell(const SupervisionEvent& event) {
    const auto actions = supervision_.on(event, now_);
    if (const auto* it = std::get_if<TaskStarted>(&event)) {
      tasks_[it->task].phase = Phase::running;
      tasks_[it->task].was_started = true;
    }
    if (const auto* it = std::get_if<TasksEnded>(&event))
      for (const TaskEnded& end : it->ends) {
        tasks_[end.task].phase = Phase::ended;
        tasks_[end.task].is_there = false;
      }
    for (const SupervisionAction& action : actions)
      if (const auto* it = std::get_if<Restart>(&action)) tasks_[it->task].phase = Phase::waiting;
  }

  std::string why() const {
    return seen_.launcher.why.empty() ? "its launcher was killed" : seen_.launcher.why;
  }

  // The launcher is gone, and with it all that it ran.
  void end_what_is_left() {
    if (seen_.launcher.cancelled) tell(Interrupted{why()});
    TasksEnded ended;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].phase != Phase::running) continue;
      ExitFacts facts{.signal = SIGKILL, .taken_away = why()};
      // Those that had been told to end did so.
      if (supervision_.stopping()) facts.signal = SIGTERM;
      ended.ends.push_back({.task = i, .facts = std::move(facts)});
    }
    if (!ended.ends.empty()) tell(ended);
    if (!supervision_.finished()) tell(Interrupted{why()});
  }

  bool all_have_come() const {
    // Those that are absent come as well, where tasks come.
    return !start_.late || std::ranges::none_of(tasks_, [](const Task& task) {
      return task.address.empty() && task.phase != Phase::ended;
    });
  }

  JobStage stage() const {
    const bool is_over = seen_.journal.is_over() && !seen_.may_begin_again;
    if (is_over || seen_.launcher.stage == Stage::gone) return JobStage::ended;
    if (supervision_.stopping() || supervision_.finished()) return JobStage::ending;
    bool waits = false;
    for (size_t i = 0; i < tasks_.size(); ++i)
      waits = waits || (tasks_[i].phase == Phase::waiting && !supervision_.is_absent(i));
    return waits || supervision_.num_resting() > 0 || !all_have_come() ? JobStage::pending
                                                                       : JobStage::running;
  }

  void add_tasks(JobSight& sight) const {
    const std::vector<SupervisedTask> named = supervised_tasks(job_);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const TaskSummary& summary = sight.report.tasks[i];
      const Task& seen = tasks_[i];
      TaskSight task{.name = named[i].name,
                     .where = seen.machine.empty() ? host_of(seen.address) : seen.machine};
      task.attempt = summary.attempt;
      task.ports = job_.roles[named[i].role].ports;
      describe(i, summary, sight.stage, task);
      // The attempt that is to come has written nothing yet.
      const int before = i < start_.attempts.size() ? start_.attempts[i] : 0;
      add_earlier(seen_, task.name, tasks_[i].was_started ? task.attempt - 1 : before, sight);
      sight.tasks.push_back(std::move(task));
    }
  }

  // How far it is, and what it writes to.
  void describe(size_t number, const TaskSummary& summary, JobStage stage, TaskSight& task) const {
    const Task& seen = tasks_[number];
    if (supervision_.is_absent(number)) {
      if (seen.was_started) task.handle = log_of(seen_, task.name, task.attempt);
      task.stage = TaskStage::absent;
      task.text = seen.was_started ? summary.text : "its role has fewer tasks now";
      return;
    }
    const bool comes_again = supervision_.is_resting(number) ||
                             (seen.phase == Phase::waiting && !summary.earlier.empty());
    if (comes_again && stage != JobStage::ended) {
      task.text = str_cat("starts again after: ", summary.earlier.back().text);
    } else {
      if (seen.was_started) task.handle = log_of(seen_, task.name, task.attempt);
      if (seen.phase == Phase::ended || stage == JobStage::ended) {
        task.stage = TaskStage::ended;
        task.text = seen.was_started ? summary.text : "never started";
      } else if (seen.phase == Phase::running && all_have_come() &&
                 (seen.is_there || !start_.late)) {
        task.stage = TaskStage::running;
      } else {
        task.text = waiting_text(seen);
      }
    }
  }

  std::string waiting_text(const Task& task) const {
    if (task.is_there) return "the other tasks are not there yet";
    if (task.phase == Phase::running && task.was_there)
      return str_cat("it is being brought to its machine ",
                     task.machine.empty() ? host_of(task.address) : task.machine,
                     ", as soon as that has room");
    if (task.phase == Phase::running) return "it is being brought to its machine";
    return "its launcher has not started it yet";
  }

  const JobSpec& job_;
  const KeptSight& seen_;
  const JournalStart& start_;
  Clock::Time now_;
  SeededRandom random_;
  Supervision supervision_;
  std::vector<Task> tasks_;
};

// Before its launcher began to write.
JobSight sight_without_journal(const JobSpec& job, const KeptSight& seen) {
  const LauncherSight& launcher = seen.launcher;
  JobSight sight;
  const bool is_gone = launcher.stage == Stage::gone;
  for (const SupervisedTask& named : supervised_tasks(job)) {
    TaskSight task{.name = named.name};
    if (named.is_absent) {
      task.stage = TaskStage::absent;
    } else if (is_gone) {
      task.stage = TaskStage::ended;
      task.text = "never started";
    } else if (launcher.stage == Stage::running || launcher.waits.empty()) {
      task.text = "its launcher is being started";
    } else {
      task.text = launcher.waits[std::min(named.role, launcher.waits.size() - 1)];
      task.is_stuck = launcher.is_stuck;
    }
    sight.report.tasks.push_back(
        {.name = named.name, .text = "never started", .was_there = !named.is_absent});
    sight.tasks.push_back(std::move(task));
  }
  if (!is_gone) return sight;
  sight.stage = JobStage::ended;
  sight.report.end = launcher.cancelled ? JobEnd::interrupted : JobEnd::failed;
  sight.report.cause = launcher.why.empty() ? "its launcher ended before it began" : launcher.why;
  if (!launcher.cancelled && !seen.launcher_words.empty())
    str_append(&sight.report.cause, ": ", seen.launcher_words);
  return sight;
}

// What it had is over, and nothing of it runs.
JobSight sight_between_lives(const JobSpec& job, const KeptSight& seen) {
  const LauncherSight& launcher = seen.launcher;
  JobSight sight;
  sight.report.begun_again = begun_again_text(*seen.journal.start);
  const std::vector<SupervisedTask> named = supervised_tasks(job);
  const std::vector<int> attempts = attempts_in(seen.journal, named.size());
  for (size_t i = 0; i < named.size(); ++i) {
    TaskSight task{.name = named[i].name, .text = launcher.again};
    task.attempt = std::max(1, attempts[i]);
    if (named[i].is_absent) task.stage = TaskStage::absent;
    if (!launcher.waits.empty())
      str_append(&task.text, ": ",
                 launcher.waits[std::min(named[i].role, launcher.waits.size() - 1)]);
    task.is_stuck = launcher.is_stuck;
    add_earlier(seen, task.name, attempts[i], sight);
    sight.report.tasks.push_back({.name = task.name, .was_there = !named[i].is_absent});
    sight.tasks.push_back(std::move(task));
  }
  return sight;
}

}  // namespace

JobReport report_of(const JobSpec& job, const Journal& journal) {
  const KeptSight seen{.journal = journal};
  return Replay(job, seen).see().report;
}

bool has_succeeded(const JobSpec& job, const Journal& journal) {
  if (!journal.start || !journal.is_over()) return false;
  return report_of(job, journal).end == JobEnd::succeeded;
}

std::string begun_again_text(const JournalStart& start) {
  if (start.runs > 0)
    return str_cat("run ", start.run, " of ", start.runs,
                   start.life > 1 ? str_cat("; before it: ", start.why) : std::string());
  if (start.life <= 1) return "";
  if (start.life == 2) return str_cat("begun again once: ", start.why);
  return str_cat("begun again ", start.life - 1, " times, last: ", start.why);
}

JobSight sight_of(const JobSpec& job, const KeptSight& seen) {
  JobSight sight = !seen.journal.start     ? sight_without_journal(job, seen)
                   : seen.is_between_lives ? sight_between_lives(job, seen)
                                           : Replay(job, seen).see();
  sight.name = job.name;
  sight.grace = time_to_end(job);
  sight.age = milliseconds(std::max<int64_t>(0, (seen.now_micros - seen.submitted_micros) / 1000));
  return sight;
}

std::optional<int64_t> ended_at_micros(const KeptSight& seen) {
  const Journal& journal = seen.journal;
  const bool is_over = journal.is_over() && !seen.may_begin_again;
  if (!is_over && seen.launcher.stage != Stage::gone) return {};
  if (!journal.start) {
    if (seen.submitted_micros == 0) return {};  // not known
    return seen.submitted_micros;
  }
  return wall_at(*journal.start,
                 journal.entries.empty() ? journal.start->at : journal.entries.back().at);
}

}  // namespace millrace
