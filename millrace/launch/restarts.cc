#include "millrace/launch/restarts.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_report.h"

namespace millrace {
namespace {

using When = RestartPolicy::When;
using Cause = RestartPolicy::Cause;

// So many doublings of a millisecond are more than any pause.
constexpr int kMostDoublings = 40;

bool is_of(const Cause& cause, const ExitReason& reason, const ExitFacts& facts) {
  auto is_number = [&](std::optional<int> seen) {
    return seen && reason.kind != ExitKind::lost && (!cause.number || *seen == *cause.number);
  };
  switch (cause.kind) {
    case Cause::Kind::exit:
      return is_number(facts.code);
    case Cause::Kind::signal:
      return is_number(facts.signal);
    case Cause::Kind::out_of_memory:
      return reason.kind == ExitKind::out_of_memory;
    case Cause::Kind::lost:
      return reason.kind == ExitKind::lost;
  }
  return false;
}

bool wants_restart(const RestartPolicy& policy, const ExitReason& reason, const ExitFacts& facts) {
  // A program that is not there will not be there in a second either.
  if (reason.kind == ExitKind::not_started || policy.when == When::never) return false;
  if (is_success(reason.kind)) return policy.when == When::always;
  return policy.causes.empty() || std::ranges::any_of(policy.causes, [&](const Cause& cause) {
           return is_of(cause, reason, facts);
         });
}

std::string times_text(int times) { return times == 1 ? "once" : str_cat(times, " times"); }

}  // namespace

Restarts::Restarts(std::vector<RoleRules> rules, std::vector<size_t> roles, Random& random)
    : random_(random) {
  for (size_t role : roles) {
    if (role >= rules.size()) rules.resize(role + 1);
    tasks_.push_back({.role = role});
  }
  for (RoleRules& rule : rules) roles_.push_back({.rules = std::move(rule)});
}

std::variant<Restarts::Again, Restarts::No> Restarts::decide(size_t task, const ExitReason& reason,
                                                             const ExitFacts& facts,
                                                             Clock::Time started, Clock::Time now) {
  Task& ended = tasks_.at(task);
  Role& role = roles_[ended.role];
  const RestartPolicy& policy = role.rules.restart;
  if (!wants_restart(policy, reason, facts)) return No{};
  if (facts.place_is_gone) return No{"it can't come back to where the others look for it"};
  if (std::string limit = limit_reached(role, ended, now); !limit.empty()) return No{limit};
  role.restarts.push_back(now);
  ++num_restarts_;
  ++ended.attempt;
  return Again{next_pause(policy, ended, now - started), count_text(role, ended)};
}

std::string Restarts::limit_reached(Role& role, const Task& task, Clock::Time now) const {
  const RestartPolicy& policy = role.rules.restart;
  if (policy.attempts && task.attempt - task.before >= *policy.attempts)
    return str_cat("it was started ", times_text(task.attempt - task.before),
                   ", and may not be more often");
  const auto& [restarts, window] = policy.budget;
  while (window && !role.restarts.empty() && now - role.restarts.front() >= *window)
    role.restarts.pop_front();
  if (role.restarts.size() < static_cast<size_t>(restarts)) return "";
  return str_cat("its role was restarted ", times_text(restarts),
                 window ? str_cat(" within ", duration_text(*window)) : "",
                 ", and may not be more often");
}

Clock::Duration Restarts::next_pause(const RestartPolicy& policy, Task& task,
                                     Clock::Duration lived) {
  if (lived >= policy.longest_pause) task.quick_ends = 0;
  const int doublings = std::min(task.quick_ends++, kMostDoublings);
  Clock::Duration pause = policy.pause;
  for (int i = 0; i < doublings && pause < policy.longest_pause; ++i) pause *= 2;
  pause = std::min<Clock::Duration>(pause, policy.longest_pause);
  // In thousandths: what is random should not depend on how the clock counts.
  const auto left_out = static_cast<int64_t>(random_.next() % 251);
  return pause - pause * left_out / 1000;
}

std::string Restarts::count_text(const Role& role, const Task& task) const {
  const auto& [restarts, window] = role.rules.restart.budget;
  return str_cat("attempt ", task.attempt, ", restart ", role.restarts.size(), " of ", restarts,
                 window ? str_cat(" in ", duration_text(*window)) : "");
}

void Restarts::take_back(size_t task) {
  --tasks_.at(task).attempt;
  --num_restarts_;
}

void Restarts::begin_anew(size_t task) {
  Task& anew = tasks_.at(task);
  anew.before = anew.attempt++;
  anew.quick_ends = 0;
}

void Restarts::count_on(size_t task, int attempts) {
  tasks_.at(task).before = attempts;
  tasks_.at(task).attempt = attempts + 1;
}

bool Restarts::may_lose(size_t task) {
  Role& role = roles_[tasks_.at(task).role];
  if (role.lost >= role.rules.may_lose) return false;
  ++role.lost;
  return true;
}

}  // namespace millrace
