#include "millrace/launch/exit_reason.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "millrace/base/str_cat.h"
#include "millrace/launch/error_lines.h"

namespace millrace {
namespace {

constexpr int kShellSignalBase =
    128;  // a shell exits with 128 + n when its command died of signal n
constexpr int kHighestNamedSignal = 31;

bool has_any(std::string_view line, std::initializer_list<std::string_view> marks) {
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return line.find(mark) != line.npos; });
}

bool is_end_of_input(const ExitFacts& facts) {
  if (facts.told) return facts.told->how == TaskEnds::How::input_exhausted;
  return has_any(facts.last_error_line, {"OutOfRange", "OUT_OF_RANGE"}) &&
         tells_end_of_input(facts.last_error_line);
}

bool tells_out_of_memory(const ExitFacts& facts) {
  if (facts.told) return facts.told->code == Code::resource_exhausted;
  const std::string_view line = facts.last_error_line;
  return line.starts_with("MemoryError") ||
         has_any(line, {"std::bad_alloc", "RESOURCE_EXHAUSTED", "ResourceExhaustedError",
                        "Cannot allocate memory", "_ArrayMemoryError"});
}

ExitReason with_lines(ExitKind kind, std::string text, const ExitFacts& facts) {
  ExitReason reason{.kind = kind, .text = std::move(text)};
  if (!facts.told) {
    reason.first_error_line = facts.first_error_line;
    reason.last_error_line = facts.last_error_line;
    return reason;
  }
  reason.first_error_line = reason.last_error_line =
      facts.told->error.substr(0, ErrorLines::kLongest);
  reason.is_consequence = facts.told->is_consequence;
  reason.by = facts.told->by;
  return reason;
}

// The words of a program that was not asked before it was killed are of something else, unless the
// last of them is an error.
ExitReason with_last_words(ExitKind kind, std::string text, const ExitFacts& facts) {
  if (facts.told || facts.ends_with_error) return with_lines(kind, std::move(text), facts);
  return {.kind = kind, .text = std::move(text)};
}

ExitReason classify_code(int code, SentSignal sent, const ExitFacts& facts) {
  bool expected = code == 0 || (sent != SentSignal::none && code == kShellSignalBase + SIGTERM);
  // Even after the signal: it may have come when the task was ending of that already.
  if (!expected && is_end_of_input(facts))
    return with_lines(ExitKind::input_exhausted, "input exhausted", facts);
  if (sent != SentSignal::none) {
    if (expected) return {.kind = ExitKind::stopped};
    return with_lines(ExitKind::stopped, str_cat("exit code ", code), facts);
  }
  if (code == 0) return {.kind = ExitKind::completed, .text = "completed"};
  if (tells_out_of_memory(facts))
    return with_lines(ExitKind::out_of_memory, str_cat("out of memory (exit code ", code, ")"),
                      facts);
  int inner = code - kShellSignalBase;
  if (inner == SIGKILL && facts.out_of_memory_kill)
    return with_lines(ExitKind::out_of_memory, str_cat("out of memory (exit code ", code, ")"),
                      facts);
  bool signalled = inner > 0 && inner <= kHighestNamedSignal;
  return with_lines(
      ExitKind::failed,
      str_cat("exit code ", code, signalled ? ", as of " : "", signalled ? signal_text(inner) : ""),
      facts);
}

ExitReason classify_signal(int signal, SentSignal sent, const ExitFacts& facts) {
  if (sent != SentSignal::none && signal == SIGTERM) {
    // It was ending of that already; an interpreter takes a while to.
    const bool had_ended = facts.told || facts.ends_with_error;
    if (had_ended && is_end_of_input(facts))
      return with_lines(ExitKind::input_exhausted, "input exhausted", facts);
    return with_last_words(ExitKind::stopped, "", facts);
  }
  if (sent == SentSignal::kill && signal == SIGKILL)
    return {.kind = ExitKind::stopped, .text = "SIGKILL was needed"};
  bool aborted_for_memory = signal == SIGABRT && tells_out_of_memory(facts);
  if (aborted_for_memory)
    return with_lines(ExitKind::out_of_memory, str_cat("out of memory (", signal_text(signal), ")"),
                      facts);
  if (signal == SIGKILL && facts.out_of_memory_kill)
    return with_last_words(ExitKind::out_of_memory,
                           str_cat("out of memory (", signal_text(signal), ")"), facts);
  const std::string text = str_cat("killed by ", signal_text(signal));
  return signal == SIGKILL ? with_last_words(ExitKind::killed, text, facts)
                           : with_lines(ExitKind::killed, text, facts);
}

}  // namespace

ExitReason classify(const ExitFacts& given, SentSignal sent) {
  ExitFacts facts = given;
  // That it completed says nothing of an exit code that it chose afterwards, or of a crash.
  if (facts.told && facts.told->how == TaskEnds::How::completed) facts.told.reset();
  if (!facts.start_error.empty())
    return {.kind = ExitKind::not_started, .text = str_cat("could not start: ", facts.start_error)};
  if (facts.lost && sent == SentSignal::none)
    return with_last_words(ExitKind::lost,
                           str_cat("lost: its keeper was killed by ", signal_text(SIGKILL)), facts);
  if (!facts.taken_away.empty() && sent == SentSignal::none)
    return {.kind = ExitKind::killed, .text = facts.taken_away};
  if (facts.signal) return classify_signal(*facts.signal, sent, facts);
  return classify_code(facts.code.value_or(0), sent, facts);
}

bool is_success(ExitKind kind) {
  return kind == ExitKind::completed || kind == ExitKind::input_exhausted;
}

bool is_failure(ExitKind kind) { return !is_success(kind) && kind != ExitKind::stopped; }

bool looks_like_consequence(const ExitReason& reason) {
  if (reason.is_consequence) return *reason.is_consequence;
  return (reason.kind == ExitKind::failed || reason.kind == ExitKind::stopped) &&
         has_any(reason.last_error_line, {"UNAVAILABLE", "UnavailableError", "CANCELLED",
                                          "CancelledError", "ABORTED", "AbortedError"});
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? str_cat("signal ", signal)
                         : str_cat("SIG", name, " (signal ", signal, ")");
}

}  // namespace millrace
