// Which ends of a role's tasks are followed by another start, how often and how soon; and how many
// tasks a role may lose for good. As people write it:
//
//   restart: on_failure          10 times in 5 minutes, all tasks of the role together
//   restart: 100                 on failure, 100 times
//   restart: 3 in 1m
//   may_lose: 10%
//
// Values, and functions between them and text. Pure. Who decides by them is restarts.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct RestartPolicy {
  enum class When { never, on_failure, always };

  // Some failures: one exit code or signal, or all of a kind.
  struct Cause {
    enum class Kind { exit, signal, out_of_memory, lost };
    Kind kind = Kind::exit;
    std::optional<int> number = std::nullopt;  // of exits and signals; not set: any
    friend bool operator==(const Cause&, const Cause&) = default;
  };

  // At most so many restarts of the role's tasks in any such time; not set: in the job's life.
  struct Budget {
    int restarts = 10;
    std::optional<std::chrono::milliseconds> window = std::chrono::minutes(5);
    friend bool operator==(const Budget&, const Budget&) = default;
  };

  When when = When::never;
  std::vector<Cause> causes = {};              // on_failure: only after these; empty: all
  std::optional<int> attempts = std::nullopt;  // starts of one task, at most
  Budget budget = {};
  std::chrono::milliseconds pause = std::chrono::seconds(1);          // before the first restart
  std::chrono::milliseconds longest_pause = std::chrono::minutes(1);  // it doubles up to this
  friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;
};

// How many tasks of a role may fail for good.
struct MayLose {
  double amount = 0;
  bool is_percentage = false;

  // Of that many tasks; whole ones.
  int of(int count) const;
  friend bool operator==(const MayLose&, const MayLose&) = default;
};

inline constexpr int kMostRestarts = 1'000'000;

// "never", "on_failure", "always", "100", "10 in 5m". Errors: INVALID_ARGUMENT.
Result<RestartPolicy> parse_restart(std::string_view text);
// "10", "10 in 5m".
Result<RestartPolicy::Budget> parse_budget(std::string_view text);
// "3", "SIGKILL", "exit", "signal", "out_of_memory", "lost".
Result<RestartPolicy::Cause> parse_cause(std::string_view text);
Result<RestartPolicy::When> parse_when(std::string_view text);
// "2", "10%".
Result<MayLose> parse_may_lose(std::string_view text);

// What those read.
std::string to_text(const RestartPolicy::Budget& budget);
std::string to_text(const RestartPolicy::Cause& cause);
std::string to_text(RestartPolicy::When when);
std::string to_text(const MayLose& may_lose);

}  // namespace millrace
