#include "millrace/launch/kubernetes/pod_restarts.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/farewell.h"
#include "millrace/launch/job_report.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Cause = RestartPolicy::Cause;
using When = RestartPolicy::When;

constexpr int kMostCode = 255;
constexpr int kSignals = 128;  // and its number: what a container ends with that a signal killed
constexpr int kMostSignal = 31;
constexpr int kKilled = kSignals + 9;

// What a program that is not there ends with: it will not be there in a second either.
constexpr int kNoProgram[] = {126, 127, 128};

bool is_of_cause(const Cause& cause, int code) {
  const bool is_signal = code > kSignals && code <= kSignals + kMostSignal;
  switch (cause.kind) {
    case Cause::Kind::exit:
      return cause.number ? code == *cause.number : !is_signal;
    case Cause::Kind::signal:
      return cause.number ? code == kSignals + *cause.number : is_signal;
    case Cause::Kind::out_of_memory:
      return code == kKilled;
    case Cause::Kind::lost:
      break;
  }
  return false;
}

bool is_followed(const RestartPolicy& policy, int code) {
  if (code == kEndedForGood || std::ranges::find(kNoProgram, code) != std::end(kNoProgram))
    return false;
  return policy.causes.empty() || std::ranges::any_of(policy.causes, [&](const Cause& cause) {
           return is_of_cause(cause, code);
         });
}

bool has_cause(const RestartPolicy& policy, Cause::Kind kind) {
  return std::ranges::find(policy.causes, kind, &Cause::kind) != policy.causes.end();
}

std::string listed(const std::vector<int>& codes) {
  std::string text;
  for (int code : codes) str_append(&text, text.empty() ? "" : ",", code);
  return text;
}

std::string times(int count) { return count == 1 ? "once" : str_cat(count, " times"); }

}  // namespace

Result<PodRestarts> pod_restarts(const RoleSpec& role) {
  const RestartPolicy& policy = role.restart;
  PodRestarts restarts;
  if (policy.when == When::never) return restarts;
  restarts.after_success = policy.when == When::always;
  restarts.restarts = policy.budget.restarts;
  if (policy.attempts) restarts.restarts = std::min(restarts.restarts, *policy.attempts - 1);
  restarts.after_disruption = policy.causes.empty() || has_cause(policy, Cause::Kind::lost);
  std::vector<int> followed;
  std::vector<int> others;
  for (int code = 1; code <= kMostCode; ++code)
    (is_followed(policy, code) ? followed : others).push_back(code);
  // No failure has code 0; a list must not be empty.
  if (followed.empty()) followed.push_back(0);
  restarts.after_listed = followed.size() < others.size();
  restarts.codes = restarts.after_listed ? std::move(followed) : std::move(others);
  return restarts;
}

Json pod_failure_policy(const PodRestarts& restarts) {
  Json rules = Json::array();
  const Json disruption = {{{"type", "DisruptionTarget"}}};
  // The first rule that fits counts: a pod that is taken away has an exit code as well.
  rules.push_back({{"action", restarts.after_disruption ? "Count" : "FailIndex"},
                   {"onPodConditions", disruption}});
  rules.push_back(
      {{"action", "FailIndex"},
       {"onExitCodes",
        {{"operator", restarts.after_listed ? "NotIn" : "In"}, {"values", restarts.codes}}}});
  return {{"rules", std::move(rules)}};
}

std::vector<std::string> restart_words(const PodRestarts& restarts) {
  std::vector<std::string> words = {"--restarts", std::to_string(restarts.restarts)};
  if (restarts.restarts == 0) return words;
  words.push_back(restarts.after_listed ? "--restarts-after" : "--restarts-but-after");
  words.push_back(listed(restarts.codes));
  if (restarts.after_success) words.push_back("--restarts-always");
  return words;
}

std::vector<std::string> restart_notes(const JobSpec& job) {
  std::vector<std::string> notes;
  for (const RoleSpec& role : job.roles) {
    const RestartPolicy& policy = role.restart;
    const Result<PodRestarts> restarts = pod_restarts(role);
    if (!restarts.ok() || restarts->restarts == 0) continue;
    notes.push_back(str_cat("role ", role.name, ": each task is started again at most ",
                            times(restarts->restarts), ", in the job's whole life: Kubernetes ",
                            "counts the failures of each task, and knows no budget of a role (",
                            to_text(policy.budget), ")"));
    notes.push_back(str_cat("role ", role.name, ": pauses are Kubernetes' own, 10 s before the ",
                            "first restart and twice as long before each other, up to some ",
                            "minutes; those of the job (", duration_text(policy.pause), " to ",
                            duration_text(policy.longest_pause), ") are not heeded"));
    if (has_cause(policy, Cause::Kind::out_of_memory))
      notes.push_back(str_cat("role ", role.name, ": out_of_memory is exit code ", kKilled,
                              " there, so that a task which SIGKILL ends is started again too"));
  }
  return notes;
}

bool may_restart(const JobSpec& job) {
  return std::ranges::any_of(job.roles,
                             [](const RoleSpec& role) { return role.restart.when != When::never; });
}

}  // namespace millrace
