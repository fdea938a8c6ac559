#include "millrace/launch/job_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

constexpr size_t kColumns = 4;
constexpr size_t kMostLostNamed = 8;  // tasks in one sentence
using Row = std::array<std::string, kColumns>;

// Bytes that a terminal shows as one column: all but the continuation bytes of UTF-8.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string memory_text(std::optional<int64_t> bytes) {
  constexpr int64_t kMegabyte = 1'000'000;
  if (!bytes) return "-";
  return str_cat((*bytes + kMegabyte / 2) / kMegabyte, " MB");
}

Row row_of(const TaskSummary& task) {
  std::string text = task.text;
  if (task.attempt > 1) str_append(&text, text.empty() ? "" : ", ", "attempt ", task.attempt);
  return {task.name, std::move(text), task.time ? duration_text(*task.time) : "-",
          memory_text(task.peak_memory)};
}

void append_row(const Row& row, const std::array<size_t, kColumns>& widths, std::string* text) {
  for (size_t i = 0; i < kColumns; ++i) {
    *text += row[i];
    if (i + 1 < kColumns) text->append(widths[i] - width(row[i]) + 2, ' ');
  }
  *text += '\n';
}

void append_earlier(const TaskSummary& task, size_t indent, std::string* text) {
  if (task.earlier.empty()) return;
  if (const int left_out = task.earlier[0].number - 1; left_out > 0) {
    text->append(indent, ' ');
    str_append(text, "attempts 1 to ", left_out, ": in the log\n");
  }
  for (const EarlierAttempt& attempt : task.earlier) {
    text->append(indent, ' ');
    str_append(text, "attempt ", attempt.number, ": ", attempt.text, " after ",
               duration_text(attempt.time), "\n");
  }
}

// Of tasks that failed, and of those that may have been failing when they were told to stop.
void append_error_lines(const TaskSummary& task, JobEnd end, size_t indent, std::string* text) {
  const ExitReason& reason = task.reason;
  const bool may_be_the_cause =
      reason.kind == ExitKind::stopped && end == JobEnd::failed && !looks_like_consequence(reason);
  if (!is_failure(reason.kind) && !may_be_the_cause) return;
  auto append = [&](std::string_view what, const std::string& line) {
    if (line.empty()) return;
    text->append(indent, ' ');
    str_append(text, what, ": ", line, "\n");
  };
  if (reason.first_error_line != reason.last_error_line)
    append("first error", reason.first_error_line);
  append("last error", reason.last_error_line);
}

// " with 2 restarts and without map:3"
std::string losses_text(const JobReport& report) {
  std::string text;
  if (report.num_restarts > 0)
    str_append(&text, " with ", report.num_restarts,
               report.num_restarts == 1 ? " restart" : " restarts");
  const char* before = text.empty() ? " without " : " and without ";
  for (size_t i = 0; i < report.lost.size() && i < kMostLostNamed; ++i)
    str_append(&text, i == 0 ? before : ", ", report.lost[i]);
  if (report.lost.size() > kMostLostNamed)
    str_append(&text, " and ", report.lost.size() - kMostLostNamed, " more");
  return text;
}

}  // namespace

std::string sentence(const JobReport& report) {
  std::string time = duration_text(report.time) + losses_text(report);
  if (!report.begun_again.empty()) str_append(&time, " (", report.begun_again, ")");
  switch (report.end) {
    case JobEnd::succeeded:
      return str_cat("job succeeded in ", time);
    case JobEnd::failed:
      return str_cat("job failed after ", time, ": ", report.cause);
    case JobEnd::interrupted:
      break;
  }
  return str_cat("job ended after ", time, ": ", report.cause);
}

std::string render(const JobReport& report) {
  Row title = {"task", "exit reason", "time", "peak memory"};
  std::array<size_t, kColumns> widths;
  for (size_t i = 0; i < kColumns; ++i) {
    widths[i] = width(title[i]);
    for (const TaskSummary& task : report.tasks)
      if (task.was_there) widths[i] = std::max(widths[i], width(row_of(task)[i]));
  }
  std::string text;
  append_row(title, widths, &text);
  for (const TaskSummary& task : report.tasks) {
    if (!task.was_there) continue;
    append_row(row_of(task), widths, &text);
    append_error_lines(task, report.end, widths[0] + 2, &text);
    append_earlier(task, widths[0] + 2, &text);
  }
  return text + sentence(report) + "\n";
}

int exit_code(const JobReport& report) {
  switch (report.end) {
    case JobEnd::succeeded:
      return 0;
    case JobEnd::failed:
      return 1;
    case JobEnd::interrupted:
      break;
  }
  return 130;
}

std::string duration_text(milliseconds duration) {
  int64_t total = duration.count();
  int64_t seconds = (total + 500) / 1000;
  if (total < 9'950) {
    int64_t tenths = (total + 50) / 100;
    return str_cat(tenths / 10, ".", tenths % 10, " s");
  }
  if (seconds < 60) return str_cat(seconds, " s");
  if (seconds < 3600) return str_cat(seconds / 60, " min ", seconds % 60, " s");
  int64_t minutes = (seconds + 30) / 60;
  return str_cat(minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace millrace
