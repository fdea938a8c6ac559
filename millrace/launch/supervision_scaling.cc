// Part of supervision.h: roles that grow and shrink while the job runs.
#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/supervision.h"

namespace millrace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

void Supervision::scaled(const RoleScaled& event, Clock::Time now, Actions& actions) {
  if (stop_) return;
  Changed changed;
  std::vector<size_t> members;
  for (size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i].role == event.role) members.push_back(i);
  if (members.empty()) return;
  // Said before it is done.
  actions.emplace_back(Say{});
  const size_t said = actions.size() - 1;
  for (size_t index = 0; index < members.size(); ++index) {
    const bool is_wanted = index < static_cast<size_t>(std::max(event.count, 1));
    if (!want(members[index], is_wanted ? Wanted::yes : Wanted::no, now, actions)) continue;
    ++(is_wanted ? changed.more : changed.fewer);
  }
  const std::string& first = tasks_[members[0]].name;
  std::string text = str_cat(first.substr(0, first.rfind(':')), " is to have ", event.count,
                             event.count == 1 ? " task" : " tasks", ", as ", event.by, " asks");
  if (changed.more > 0) str_append(&text, ": ", changed.more, " more");
  if (changed.fewer > 0) str_append(&text, ": ", changed.fewer, " fewer");
  if (changed.more + changed.fewer == 0) text += ": nothing changes";
  actions[said] = Say{std::move(text)};
  // Those that were still to succeed may have been the ones that are not wanted.
  if (has_succeeded()) stop(StopCause::finished, "", now, actions);
}

std::string Supervision::scaled_text(const Task& task) {
  return task.reason.text.empty() ? "scaled down" : str_cat("scaled down (", task.reason.text, ")");
}

bool Supervision::want(size_t task, Wanted wanted, Clock::Time now, Actions& actions) {
  return wanted == Wanted::yes ? bring(task, actions) : take_away(task, now, actions);
}

bool Supervision::bring(size_t index, Actions& actions) {
  Task& task = tasks_[index];
  // What is leaving comes back when it is gone: it may have let go of its work already.
  if (task.leaves_by) return !std::exchange(task.comes_back, true);
  if (task.phase != Phase::absent) return false;
  task.phase = Phase::waiting;
  if (task.starts > 0) {
    remember(task, {restarts_.attempt(index), scaled_text(task),
                    duration_cast<milliseconds>(task.ended - task.started)});
    restarts_.begin_anew(index);
    task.begins_anew = true;
  }
  actions.emplace_back(Restart{index, restarts_.attempt(index)});
  return true;
}

bool Supervision::take_away(size_t index, Clock::Time now, Actions& actions) {
  Task& task = tasks_[index];
  if (task.leaves_by) return std::exchange(task.comes_back, false);
  if (task.phase == Phase::ended || task.phase == Phase::absent) return false;
  if (task.phase == Phase::running) {
    task.sent = SentSignal::terminate;
    task.leaves_by = now + limits_.grace;
    actions.emplace_back(Terminate{index});
    return true;
  }
  if (task.phase == Phase::waiting) actions.emplace_back(CallOff{index});
  // The attempt that was to come will not.
  if (task.starts > 0) {
    task.begins_anew ? restarts_.call_off(index) : restarts_.take_back(index);
    task.earlier.pop_back();
  }
  task.begins_anew = false;
  task.phase = Phase::absent;
  task.reason = {.kind = ExitKind::stopped};
  return true;
}

// It has ended, and was told to: however it did so, that is no failure.
void Supervision::leave(size_t index, Actions& actions) {
  Task& task = tasks_[index];
  task.leaves_by.reset();
  task.phase = Phase::absent;
  task.reason.kind = ExitKind::stopped;
  if (std::exchange(task.comes_back, false)) bring(index, actions);
}

void Supervision::end_leaving(Clock::Time now, Actions& actions) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (!task.leaves_by || now < *task.leaves_by) continue;
    if (task.sent != SentSignal::kill) {
      task.sent = SentSignal::kill;
      task.leaves_by = now + kPatience;
      actions.emplace_back(Kill{i});
      continue;
    }
    task.ended = now;
    task.reason = {.kind = ExitKind::stopped, .text = "still there after SIGKILL"};
    leave(i, actions);
  }
}

std::optional<Clock::Time> Supervision::next_leave() const {
  std::optional<Clock::Time> next;
  for (const Task& task : tasks_)
    if (task.leaves_by) next = std::min(next.value_or(*task.leaves_by), *task.leaves_by);
  return next;
}

}  // namespace millrace
