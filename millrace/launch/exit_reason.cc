#include "millrace/launch/exit_reason.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int kShellSignalBase =
    128;  // a shell exits with 128 + n when its command died of signal n
constexpr int kHighestNamedSignal = 31;

bool has_any(std::string_view line, std::initializer_list<std::string_view> marks) {
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return line.find(mark) != line.npos; });
}

// OutOfRange alone is no end of input: a bad index has that code too.
bool tells_end_of_input(std::string_view line) {
  return has_any(line, {"OutOfRange", "OUT_OF_RANGE"}) &&
         has_any(line, {"is closed and has insufficient elements", "End of sequence",
                        "Reached limit of", "reached limit of"});
}

bool tells_out_of_memory(std::string_view line) {
  return line.starts_with("MemoryError") ||
         has_any(line, {"std::bad_alloc", "RESOURCE_EXHAUSTED", "ResourceExhaustedError",
                        "Cannot allocate memory", "_ArrayMemoryError"});
}

ExitReason with_lines(ExitKind kind, std::string text, const ExitFacts& facts) {
  return {kind, std::move(text), facts.first_error_line, facts.last_error_line};
}

ExitReason classify_code(int code, SentSignal sent, const ExitFacts& facts) {
  bool expected = code == 0 || (sent != SentSignal::none && code == kShellSignalBase + SIGTERM);
  // Even after the signal: it may have come when the task was ending of that already.
  if (!expected && tells_end_of_input(facts.last_error_line))
    return with_lines(ExitKind::input_exhausted, "input exhausted", facts);
  if (sent != SentSignal::none) {
    if (expected) return {.kind = ExitKind::stopped};
    return with_lines(ExitKind::stopped, str_cat("exit code ", code), facts);
  }
  if (code == 0) return {.kind = ExitKind::completed, .text = "completed"};
  if (tells_out_of_memory(facts.last_error_line))
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
    if (facts.ends_with_error && tells_end_of_input(facts.last_error_line))
      return with_lines(ExitKind::input_exhausted, "input exhausted", facts);
    if (facts.ends_with_error) return with_lines(ExitKind::stopped, "", facts);
    return {.kind = ExitKind::stopped};
  }
  if (sent == SentSignal::kill && signal == SIGKILL)
    return {.kind = ExitKind::stopped, .text = "SIGKILL was needed"};
  bool aborted_for_memory = signal == SIGABRT && tells_out_of_memory(facts.last_error_line);
  if (aborted_for_memory || (signal == SIGKILL && facts.out_of_memory_kill))
    return with_lines(ExitKind::out_of_memory, str_cat("out of memory (", signal_text(signal), ")"),
                      facts);
  return with_lines(ExitKind::killed, str_cat("killed by ", signal_text(signal)), facts);
}

}  // namespace

ExitReason classify(const ExitFacts& facts, SentSignal sent) {
  if (!facts.start_error.empty())
    return {.kind = ExitKind::not_started, .text = str_cat("could not start: ", facts.start_error)};
  if (facts.signal) return classify_signal(*facts.signal, sent, facts);
  return classify_code(facts.code.value_or(0), sent, facts);
}

bool is_success(ExitKind kind) {
  return kind == ExitKind::completed || kind == ExitKind::input_exhausted;
}

bool is_failure(ExitKind kind) { return !is_success(kind) && kind != ExitKind::stopped; }

bool looks_like_consequence(const ExitReason& reason) {
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
