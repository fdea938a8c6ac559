#include "millrace/launch/supervision.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/peer_lines.h"

namespace millrace {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

milliseconds in_milliseconds(Clock::Duration duration) {
  return duration_cast<milliseconds>(duration);
}

// Lower is more likely the cause of what the others died of.
int blame_rank(const ExitReason& reason) {
  if (looks_like_consequence(reason)) return 2;
  return reason.kind == ExitKind::failed ? 1 : 0;
}

bool blames(const ExitReason& reason, std::string_view task) {
  return reason.is_consequence ? reason.by == task : names_task(reason.last_error_line, task);
}

constexpr std::string_view kHowToOutlast =
    "a session begins when all its tasks are there; let tasks serve until the others are done "
    "(server.join()), or leave them out of the session (device_filters)";

constexpr size_t kMostEarlier = 5;  // attempts of a task that the report tells of

std::vector<size_t> roles_of(const std::vector<SupervisedTask>& tasks) {
  std::vector<size_t> roles;
  roles.reserve(tasks.size());
  for (const SupervisedTask& task : tasks) roles.push_back(task.role);
  return roles;
}

// "exit code 3: ValueError: bad record"
std::string with_last_error(const ExitReason& reason) {
  if (reason.last_error_line.empty()) return reason.text;
  return str_cat(reason.text, ": ", reason.last_error_line);
}

// What stands in the table after "stopped: …".
std::string with_manner(std::string text, const std::string& manner) {
  if (!manner.empty()) str_append(&text, " (", manner, ")");
  return text;
}

}  // namespace

Supervision::Supervision(const std::vector<SupervisedTask>& tasks, std::vector<RoleRules> roles,
                         SupervisionLimits limits, Clock::Time start, Random& random)
    : limits_(limits), start_(start), restarts_(std::move(roles), roles_of(tasks), random) {
  for (const SupervisedTask& task : tasks)
    tasks_.push_back({.name = task.name,
                      .decides = task.decides,
                      .role = task.role,
                      .phase = task.is_absent ? Phase::absent : Phase::waiting});
  for (size_t i = 0; i < tasks.size(); ++i) restarts_.count_on(i, tasks[i].attempts_before);
}

std::vector<SupervisionAction> Supervision::on(const SupervisionEvent& event, Clock::Time now) {
  Actions actions;
  if (finished_) return actions;
  if (const auto* task = std::get_if<TaskStarted>(&event)) started(*task, now);
  if (const auto* ends = std::get_if<TasksEnded>(&event)) ended(*ends, now, actions);
  if (const auto* waiting = std::get_if<TaskWaits>(&event)) waits(*waiting, now, actions);
  if (const auto* wish = std::get_if<RoleScaled>(&event)) scaled(*wish, now, actions);
  if (const auto* signal = std::get_if<Interrupted>(&event)) interrupted(*signal, now, actions);
  if (std::holds_alternative<TimePassed>(event)) time_passed(now, actions);
  finish_if_done(now, actions);
  return actions;
}

std::optional<Clock::Time> Supervision::wake_at() const {
  if (finished_) return {};
  if (give_up_at_) return give_up_at_;
  if (kill_at_) return kill_at_;
  if (stop_) return {};
  std::optional<Clock::Time> due = next_restart();
  if (const auto leave = next_leave()) due = std::min(due.value_or(*leave), *leave);
  if (judge_by_) due = std::min(due.value_or(*judge_by_), *judge_by_);
  if (const auto warning = warning_at()) due = std::min(due.value_or(*warning), *warning);
  if (limits_.time_limit)
    due = std::min(due.value_or(Clock::Time::max()), start_ + *limits_.time_limit);
  return due;
}

std::optional<Clock::Time> Supervision::next_restart() const {
  std::optional<Clock::Time> next;
  for (const Task& task : tasks_)
    if (task.phase == Phase::resting)
      next = std::min(next.value_or(task.restart_at), task.restart_at);
  return next;
}

void Supervision::started(const TaskStarted& event, Clock::Time now) {
  Task& task = tasks_.at(event.task);
  task.phase = Phase::running;
  task.begins_anew = false;
  task.sent = SentSignal::none;
  ++task.starts;
  task.started = now;
}

void Supervision::ended(const TasksEnded& event, Clock::Time now, Actions& actions) {
  std::vector<const TaskEnded*> news;
  for (const TaskEnded& end : event.ends) {
    const Phase phase = tasks_.at(end.task).phase;
    if (phase == Phase::ended || phase == Phase::resting || phase == Phase::absent) continue;
    // Of a process that had been given up, when its task is to be there again.
    if (phase == Phase::waiting && tasks_[end.task].begins_anew && end.facts.start_error.empty())
      continue;
    note_end(end, now);
    if (tasks_[end.task].leaves_by) {
      leave(end.task, actions);
    } else {
      news.push_back(&end);
    }
  }
  // Success first: once all that decide have succeeded, nobody else's end matters.
  if (has_succeeded()) return stop(StopCause::finished, "", now, actions);
  if (stop_) return;
  for (const TaskEnded* end : news)
    if (fails_job(*end, now, actions) && !judge_by_) judge_by_ = now + limits_.cause_within;
  if (judge_by_) return judge(now, actions);
  // The last that was to succeed may have been lost instead.
  if (has_succeeded()) stop(StopCause::finished, "", now, actions);
}

void Supervision::judge(Clock::Time now, Actions& actions) {
  const Task& failed = *culprit();
  if (now < *judge_by_ && blames_running(failed)) return;
  std::string text = str_cat(failed.name, " failed: ", with_last_error(failed.reason));
  if (!failed.limit.empty()) str_append(&text, "; ", failed.limit);
  actions.emplace_back(Say{std::move(text)});
  stop(StopCause::failed, "", now, actions);
}

bool Supervision::blames_running(const Task& task) const {
  return looks_like_consequence(task.reason) &&
         std::ranges::any_of(tasks_, [&task](const Task& peer) {
           return peer.phase == Phase::running && blames(task.reason, peer.name);
         });
}

void Supervision::note_end(const TaskEnded& end, Clock::Time now) {
  Task& task = tasks_[end.task];
  if (task.phase == Phase::waiting) task.started = now;
  task.phase = Phase::ended;
  task.ended = now;
  task.peak_memory = end.peak_memory;
  task.reason = classify(end.facts, task.sent);
}

bool Supervision::fails_job(const TaskEnded& end, Clock::Time now, Actions& actions) {
  Task& task = tasks_[end.task];
  const int attempt = restarts_.attempt(end.task);
  const auto decision = restarts_.decide(end.task, task.reason, end.facts, task.started, now);
  if (const auto* again = std::get_if<Restarts::Again>(&decision)) {
    const Clock::Duration pause = again->pause;
    actions.emplace_back(
        Say{str_cat(task.name, ": ", with_last_error(task.reason), "; starts again in ",
                    duration_text(in_milliseconds(pause)), " (", again->count, ")")});
    remember(task, {attempt, task.reason.text, in_milliseconds(now - task.started)});
    task.phase = Phase::resting;
    task.restart_at = now + pause;
    return false;
  }
  if (!is_failure(task.reason.kind)) return false;
  task.limit = std::get<Restarts::No>(decision).limit;
  task.is_lost = restarts_.may_lose(end.task);
  if (task.is_lost)
    actions.emplace_back(
        Say{str_cat(task.name, ": ", with_last_error(task.reason), task.limit.empty() ? "" : "; ",
                    task.limit, "; the job goes on without it")});
  return !task.is_lost;
}

void Supervision::remember(Task& task, EarlierAttempt attempt) {
  if (task.earlier.size() == kMostEarlier) task.earlier.erase(task.earlier.begin());
  task.earlier.push_back(std::move(attempt));
}

void Supervision::restart_due(Clock::Time now, Actions& actions) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (task.phase != Phase::resting || now < task.restart_at) continue;
    task.phase = Phase::waiting;
    const int attempt = restarts_.attempt(i);
    actions.emplace_back(Say{str_cat(task.name, " starts: attempt ", attempt)});
    actions.emplace_back(Restart{i, attempt});
  }
}

void Supervision::waits(const TaskWaits& event, Clock::Time now, Actions& actions) {
  const Task& task = tasks_.at(event.task);
  if (stop_ || judge_by_ || !task.decides || task.phase != Phase::running) return;
  for (const Task& peer : tasks_) {
    if (peer.phase != Phase::ended || now - peer.ended < kStaleWaits) continue;
    if (std::find(event.others.begin(), event.others.end(), peer.name) == event.others.end())
      continue;
    std::string text =
        str_cat(task.name, " waits for ", peer.name, ", which has ended (", peer.reason.text, ")");
    actions.emplace_back(Say{str_cat(text, ": ", kHowToOutlast)});
    return stop(StopCause::waits, text, now, actions);
  }
}

void Supervision::interrupted(const Interrupted& event, Clock::Time now, Actions& actions) {
  if (stop_) {
    if (give_up_at_) return;
    actions.emplace_back(Say{str_cat("interrupted by ", event.by, ": killing what is left")});
    return kill_all(now, actions);
  }
  actions.emplace_back(Say{str_cat("interrupted by ", event.by, ": ending all tasks")});
  stop(StopCause::interrupted, event.by, now, actions);
}

void Supervision::time_passed(Clock::Time now, Actions& actions) {
  std::optional<Clock::Time> due = wake_at();
  if (!due || now < *due) return;
  if (give_up_at_) {
    for (Task& task : tasks_) {
      if (task.phase != Phase::running) continue;
      task.phase = Phase::ended;
      task.ended = now;
      task.reason = {.kind = ExitKind::stopped, .text = "still there after SIGKILL"};
    }
  } else if (kill_at_) {
    kill_all(now, actions);
  } else if (!limits_.time_limit || now < start_ + *limits_.time_limit) {
    end_leaving(now, actions);
    restart_due(now, actions);
    warn_due(now, actions);
    if (judge_by_) judge(now, actions);
  } else {
    std::string limit = duration_text(in_milliseconds(*limits_.time_limit));
    actions.emplace_back(Say{str_cat("time limit of ", limit, " reached: ending all tasks")});
    stop(StopCause::time_limit, limit, now, actions);
  }
}

void Supervision::stop(StopCause cause, std::string why, Clock::Time now, Actions& actions) {
  if (stop_) return;
  stop_ = cause;
  stop_reason_ = std::move(why);
  kill_at_ = now + limits_.grace;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (task.phase == Phase::waiting) task.reason = {.kind = ExitKind::stopped};
    if (task.phase == Phase::resting) {
      task.phase = Phase::ended;
      task.earlier.pop_back();
      restarts_.take_back(i);
      // Not what the job failed of: it was to be started again.
      task.reason = {.kind = ExitKind::stopped,
                     .text = str_cat("in the pause after: ", task.reason.text)};
    }
    task.comes_back = false;
    // One that is leaving has been told already.
    if (task.phase != Phase::running || task.leaves_by) continue;
    task.sent = SentSignal::terminate;
    actions.emplace_back(Terminate{i});
  }
}

void Supervision::kill_all(Clock::Time now, Actions& actions) {
  give_up_at_ = now + kPatience;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].phase != Phase::running) continue;
    tasks_[i].sent = SentSignal::kill;
    actions.emplace_back(Kill{i});
  }
}

void Supervision::finish_if_done(Clock::Time now, Actions& actions) {
  bool all_ended = num_ended() + num_in(Phase::absent) == tasks_.size();
  bool none_left = stop_ && num_running() == 0;
  if (!all_ended && !none_left) return;
  finished_ = true;
  finish_time_ = now;
  actions.emplace_back(Finish{});
}

bool Supervision::has_succeeded() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    const bool is_done = task.is_lost || is_success(task.reason.kind);
    const bool counts = task.decides && task.phase != Phase::absent && !task.leaves_by;
    return !counts || (task.phase == Phase::ended && is_done);
  });
}

size_t Supervision::num_in(Phase phase) const {
  return static_cast<size_t>(std::ranges::count(tasks_, phase, &Task::phase));
}

size_t Supervision::num_running() const { return num_in(Phase::running); }

size_t Supervision::num_resting() const { return num_in(Phase::resting); }

size_t Supervision::num_ended() const { return num_in(Phase::ended); }

const Supervision::Task* Supervision::culprit() const {
  const Task* found = nullptr;
  for (const Task& task : tasks_) {
    if (task.phase != Phase::ended || !is_failure(task.reason.kind) || task.is_lost) continue;
    auto worse = [](const Task& a, const Task& b) {
      int ranks = blame_rank(a.reason) - blame_rank(b.reason);
      return ranks != 0 ? ranks < 0 : a.ended < b.ended;
    };
    if (found == nullptr || worse(task, *found)) found = &task;
  }
  return found;
}

std::string Supervision::why_stopped() const {
  switch (*stop_) {
    case StopCause::finished:
      return "stopped: job finished";
    case StopCause::interrupted:
      return "interrupted";
    case StopCause::time_limit:
      return str_cat("stopped: time limit of ", stop_reason_);
    case StopCause::waits:
      return "stopped: waiting was in vain";
    case StopCause::failed:
      break;
  }
  const Task* task = culprit();
  return str_cat("stopped: ", task == nullptr ? "another task" : task->name, " failed");
}

std::string Supervision::cause_of_failure() const {
  const Task* task = culprit();
  if (task == nullptr) return "";
  std::string cause = str_cat(task->name, ": ", task->reason.text);
  if (!task->limit.empty()) return str_cat(cause, "; ", task->limit);
  if (!looks_like_consequence(task->reason)) return cause;
  for (const Task& peer : tasks_)
    if (peer.phase == Phase::ended && is_success(peer.reason.kind) &&
        blames(task->reason, peer.name))
      return str_cat(cause, "; ", peer.name, " had ended (", peer.reason.text,
                     "): ", kHowToOutlast);
  return cause;
}

JobReport Supervision::report() const {
  JobReport report;
  report.time = in_milliseconds((finished_ ? finish_time_ : start_) - start_);
  report.num_restarts = restarts_.num_restarts();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    report.tasks.push_back(this->report(tasks_[i]));
    report.tasks.back().attempt = restarts_.attempt(i);
    if (tasks_[i].is_lost) report.lost.push_back(tasks_[i].name);
  }
  if (!stop_ || stop_ == StopCause::finished) return report;
  report.end = stop_ == StopCause::interrupted ? JobEnd::interrupted : JobEnd::failed;
  if (stop_ == StopCause::interrupted) report.cause = str_cat("interrupted by ", stop_reason_);
  if (stop_ == StopCause::time_limit) report.cause = str_cat("time limit of ", stop_reason_);
  if (stop_ == StopCause::waits) report.cause = str_cat(stop_reason_, ": ", kHowToOutlast);
  if (stop_ == StopCause::failed) report.cause = cause_of_failure();
  return report;
}

TaskSummary Supervision::report(const Task& task) const {
  TaskSummary report{.name = task.name,
                     .reason = task.reason,
                     .text = task.reason.text,
                     .time = in_milliseconds(task.ended - task.started),
                     .peak_memory = task.peak_memory,
                     .earlier = task.earlier};
  report.was_there = task.phase != Phase::absent || task.starts > 0;
  if (task.is_lost) report.text += ", may be lost";
  if (task.phase == Phase::absent || task.leaves_by) {
    report.text = scaled_text(task);
  } else if (task.reason.kind == ExitKind::stopped && stop_) {
    report.text = with_manner(why_stopped(), task.reason.text);
  }
  const bool has_ended = task.phase != Phase::waiting && task.phase != Phase::running;
  if (!has_ended || task.reason.kind == ExitKind::not_started) report.time.reset();
  return report;
}

}  // namespace millrace
