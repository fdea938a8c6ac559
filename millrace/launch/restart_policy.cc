#include "millrace/launch/restart_policy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

#include "millrace/launch/job.h"

namespace millrace {
namespace {

using When = RestartPolicy::When;
using Cause = RestartPolicy::Cause;

constexpr std::pair<std::string_view, When> kWhens[] = {
    {"never", When::never}, {"on_failure", When::on_failure}, {"always", When::always}};
constexpr std::pair<std::string_view, Cause::Kind> kKinds[] = {
    {"exit", Cause::Kind::exit},
    {"signal", Cause::Kind::signal},
    {"out_of_memory", Cause::Kind::out_of_memory},
    {"lost", Cause::Kind::lost}};
constexpr int kHighestExitCode = 255;

std::optional<int> number_in(std::string_view text, int least, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || number < least || number > most) return {};
  return number;
}

// The signal that is called "SIGKILL"; 0 if none is.
int signal_named(std::string_view text) {
  if (!text.starts_with("SIG")) return 0;
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = sigabbrev_np(signal);
    if (name != nullptr && text.substr(3) == name) return signal;
  }
  return 0;
}

}  // namespace

int MayLose::of(int count) const {
  // A tenth of 10 is 1, whatever the machine makes of 0.1.
  const double tasks = is_percentage ? count * amount / 100 + 1e-9 : amount;
  return static_cast<int>(std::min<double>(std::floor(tasks), count));
}

Result<RestartPolicy> parse_restart(std::string_view text) {
  RestartPolicy policy;
  if (auto when = parse_when(text); when.ok()) {
    policy.when = *when;
    return policy;
  }
  Result<RestartPolicy::Budget> budget = parse_budget(text);
  if (!budget.ok())
    return invalid("'", text.substr(0, 40),
                   "' is no way to restart; write never, on_failure, always, or how often: 100, "
                   "or 10 in 5m");
  policy.budget = *budget;
  policy.when = budget->restarts == 0 ? When::never : When::on_failure;
  return policy;
}

Result<RestartPolicy::Budget> parse_budget(std::string_view text) {
  constexpr std::string_view kIn = " in ";
  const size_t in = text.find(kIn);
  const std::optional<int> restarts = number_in(text.substr(0, in), 0, kMostRestarts);
  if (!restarts)
    return invalid("'", text.substr(0, 40), "' is no number of restarts; write 100, or 10 in 5m");
  RestartPolicy::Budget budget{.restarts = *restarts, .window = std::nullopt};
  if (in == text.npos) return budget;
  MR_ASSIGN(budget.window, parse_duration(text.substr(in + kIn.size())));
  if (budget.window->count() == 0) return invalid("'", text, "': no restart is in no time");
  return budget;
}

Result<Cause> parse_cause(std::string_view text) {
  for (const auto& [name, kind] : kKinds)
    if (text == name) return Cause{.kind = kind};
  if (auto code = number_in(text, 1, kHighestExitCode))
    return Cause{.kind = Cause::Kind::exit, .number = code};
  if (int signal = signal_named(text); signal != 0)
    return Cause{.kind = Cause::Kind::signal, .number = signal};
  return invalid("'", text.substr(0, 40),
                 "' is no way to fail; write an exit code from 1 to 255, a signal (SIGKILL), or "
                 "exit, signal, out_of_memory, lost");
}

Result<When> parse_when(std::string_view text) {
  for (const auto& [name, when] : kWhens)
    if (text == name) return when;
  return invalid("'", text.substr(0, 40), "': there are never, on_failure and always");
}

Result<MayLose> parse_may_lose(std::string_view text) {
  MayLose may_lose;
  may_lose.is_percentage = text.ends_with('%');
  if (may_lose.is_percentage) {
    const char* end = text.data() + text.size() - 1;
    const auto [stop, fault] =
        std::from_chars(text.data(), end, may_lose.amount, std::chars_format::fixed);
    if (fault == std::errc() && stop == end && may_lose.amount >= 0 && may_lose.amount <= 100)
      return may_lose;
  } else if (auto tasks = number_in(text, 0, kMostTasks)) {
    may_lose.amount = *tasks;
    return may_lose;
  }
  return invalid("'", text.substr(0, 40), "' is no number of tasks; write 2, or 10%");
}

std::string to_text(const RestartPolicy::Budget& budget) {
  if (!budget.window) return str_cat(budget.restarts);
  const int64_t window = budget.window->count();
  return str_cat(budget.restarts, " in ",
                 window % 1000 == 0 ? str_cat(window / 1000, "s") : str_cat(window, "ms"));
}

std::string to_text(const Cause& cause) {
  if (cause.number && cause.kind == Cause::Kind::exit) return str_cat(*cause.number);
  if (cause.number) return str_cat("SIG", sigabbrev_np(*cause.number));
  for (const auto& [name, kind] : kKinds)
    if (kind == cause.kind) return std::string(name);
  return "";
}

std::string to_text(When when) {
  for (const auto& [name, known] : kWhens)
    if (known == when) return std::string(name);
  return "";
}

std::string to_text(const MayLose& may_lose) {
  return str_cat(may_lose.amount, may_lose.is_percentage ? "%" : "");
}

}  // namespace millrace
