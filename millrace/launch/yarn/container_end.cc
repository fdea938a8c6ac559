#include "millrace/launch/yarn/container_end.h"

#include <csignal>

#include "millrace/base/str_cat.h"
#include "millrace/launch/yarn/container_image.h"
#include "millrace/launch/yarn/first_words.h"

namespace millrace {
namespace {

constexpr std::string_view kMark = "yarn: ";
constexpr std::string_view kOutOfMemory = "out of memory: ";
constexpr std::string_view kTakenAway = "taken away: ";
constexpr std::string_view kCouldNotStart = "could not start: ";
constexpr std::string_view kIsLost = " is lost";
constexpr int kCodeOfSignal = 128;

// Hadoop's ContainerExitStatus.
enum : int {
  kInvalid = -1000,
  kAborted = -100,
  kDisksFailed = -101,
  kPreempted = -102,
  kTooMuchVirtualMemory = -103,
  kTooMuchMemory = -104,
  kKilledByMaster = -105,
  kKilledByManager = -106,
  kKilledAfterApplication = -107,
  kKilledByScheduler = -108,
  kTooManyLogs = -109,
};

ContainerEnd failed(std::string_view kind, std::string_view words) {
  return {.code = kErrandFailed, .words = str_cat(kind, words)};
}

bool has_mark(std::string_view text, std::string_view mark) {
  return text.find(mark) != std::string_view::npos;
}

}  // namespace

ContainerEnd container_end(int status, std::string_view diagnostics, std::string_view node) {
  const std::string_view words = first_words(diagnostics);
  const std::string there = node.empty() ? "its machine" : str_cat("its machine ", node);
  if (status >= 0) {
    const std::string fault = image_fault(diagnostics);
    if (status > 0 && !fault.empty()) return failed(kCouldNotStart, fault);
    return {.code = status};
  }
  switch (status) {
    case kAborted:
      if (has_mark(diagnostics, "*lost*") || has_mark(diagnostics, "*unusable*"))
        return failed(kTakenAway, str_cat(there, kIsLost));
      return failed(kTakenAway, str_cat("YARN gave its container back: ", words));
    case kDisksFailed:
      return failed(kTakenAway, str_cat("the disks of ", there, " failed"));
    case kPreempted:
      return failed(kTakenAway, "preempted: YARN gave its container to another job");
    case kTooMuchVirtualMemory:
    case kTooMuchMemory:
      return failed(kOutOfMemory, words);
    // What we asked for ourselves.
    case kKilledByMaster:
    case kKilledAfterApplication:
      return {.code = kCodeOfSignal + SIGTERM};
    case kKilledByManager:
      return failed(kTakenAway, str_cat("YARN killed its container: ", words));
    case kKilledByScheduler:
      return failed(kTakenAway, str_cat(there, " had no room left for it"));
    case kTooManyLogs:
      return failed(kTakenAway, "it wrote more logs than YARN allows");
    case kInvalid:
      return failed(kCouldNotStart, words.empty() ? "YARN says no more" : words);
    default:
      return failed(kCouldNotStart, str_cat(words, " (YARN's number ", status, ")"));
  }
}

ContainerEnd never_started(std::string_view why) { return failed(kCouldNotStart, why); }

ContainerEnd taken_away(std::string_view why) { return failed(kTakenAway, why); }

ContainerEnd never_began() { return {.code = kCodeOfSignal + SIGTERM}; }

bool hear_yarn(std::string_view line, ExitFacts& facts) {
  if (!line.starts_with(kMark)) return false;
  line.remove_prefix(kMark.size());
  if (line.starts_with(kOutOfMemory)) facts.out_of_memory_kill = true;
  if (line.starts_with(kTakenAway)) {
    facts.taken_away = line.substr(kTakenAway.size());
    facts.place_is_gone = line.ends_with(kIsLost);
  }
  if (line.starts_with(kCouldNotStart)) facts.start_error = line.substr(kCouldNotStart.size());
  return true;
}

}  // namespace millrace
