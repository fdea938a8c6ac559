#include "millrace/launch/slurm/answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <limits>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using Stage = LauncherSight::Stage;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

template <class Use>
void for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string without_null(std::string_view text) {
  return is_one_of(text, {"(null)", "n/a", "None", "N/A"}) ? "" : std::string(text);
}

// "12", "12+1", "12_3", "12_[3-10%1]", "12_[3,7-10%1]".
bool read_name(std::string_view name, QueueRow& row) {
  const size_t mark = std::min(name.find_first_of("+_"), name.size());
  if (!read_number(name.substr(0, mark), row.number)) return false;
  if (mark == name.size()) return true;
  std::string_view part = name.substr(mark + 1);
  if (name[mark] == '+') return read_number(part, row.component);
  if (part.starts_with('[')) part = part.substr(1, part.find_first_of("-,%]") - 1);
  return read_number(part, row.element);
}

std::optional<QueueRow> row_of(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    // The comment may be anything.
    const size_t end = i + 1 < fields.size() ? line.find('|') : line.size();
    if (end == std::string_view::npos) return {};
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  QueueRow row{.state = std::string(fields[1]),
               .reason = without_null(fields[2]),
               .machine = without_null(fields[3]),
               .comment = without_null(fields[4])};
  if (!read_name(fields[0], row)) return {};
  return row;
}

// Why a job waits, in Slurm's word for it and in ours; and whether waiting helps.
struct KnownReason {
  std::string_view word;
  std::string_view text;
  bool is_stuck = false;
};
constexpr KnownReason kReasons[] = {
    {"Resources", "no machine is free for it"},
    {"Priority", "others come before it in the queue"},
    {"Dependency", "another job comes before it"},
    {"DependencyNeverSatisfied", "the job that it waits for has failed", true},
    {"BeginTime", "it was to begin later"},
    {"JobHeldUser", "its user holds it back: scontrol release", true},
    {"JobHeldAdmin", "whoever runs the cluster holds it back", true},
    {"PartitionDown", "its queue takes jobs, and runs none now"},
    {"PartitionInactive", "its queue is off"},
    {"PartitionConfig", "its queue allows no such job: fewer machines, or a shorter time limit",
     true},
    {"PartitionNodeLimit", "it asks for more machines than its queue allows", true},
    {"PartitionTimeLimit", "it asks for more time than its queue allows", true},
    {"ReqNodeNotAvail", "a machine that it needs is down or reserved"},
    {"NodeDown", "a machine that it needs is down"},
    {"BadConstraints", "no machine has all that it asks for", true},
    {"JobArrayTaskLimit", "Slurm has not looked at it since its run before ended"},
    {"Licenses", "a licence that it asks for is in use"},
    {"Reservation", "its reservation has not begun"},
    {"InvalidAccount", "its account is not known", true},
    {"InvalidQOS", "its quality of service is not known", true},
    {"JobLaunchFailure", "it could not be started", true},
    {"launch failed requeued held", "it could not be started, and is held back", true},
};

// What limits of users and accounts are called begins like this.
bool is_quota(std::string_view reason) {
  return reason.starts_with("QOS") || reason.starts_with("Assoc") || reason.starts_with("Max");
}

std::string wait_of(const QueueRow& row) {
  if (row.state == "CONFIGURING") return "its machines are being prepared";
  for (const KnownReason& known : kReasons)
    if (known.word == row.reason) return str_cat(known.text, " (", row.reason, ")");
  if (is_quota(row.reason))
    return str_cat("its user or account has as much as it may (", row.reason, ")");
  return row.reason.empty() ? "Slurm has not looked at it yet" : row.reason;
}

bool is_stuck(const QueueRow& row) {
  return std::ranges::any_of(kReasons, [&](const KnownReason& known) {
    return known.word == row.reason && known.is_stuck;
  });
}

bool is_pending(std::string_view state) {
  return is_one_of(state, {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                           "SPECIAL_EXIT", "RESV_DEL_HOLD"});
}

bool is_running(std::string_view state) {
  return is_one_of(state, {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING",
                           "STAGE_OUT"});
}

// Why Slurm has ended a job, as it writes that into the job's output.
struct KnownCause {
  std::string_view mark;
  std::string_view reason;
};
constexpr KnownCause kCauses[] = {{"DUE TO PREEMPTION", "it was preempted"},
                                  {"DUE TO NODE FAILURE", "a machine of it was lost"},
                                  {"DUE TO JOB REQUEUE", "it was requeued, as scontrol does"},
                                  {"DUE TO TIME LIMIT", "Slurm's time limit"}};

using LauncherLog = absl::FunctionRef<std::string()>;

// How a job has ended whose launcher did not say so.
LauncherSight gone(const std::string& state, const std::string& machine, LauncherLog launcher_log) {
  LauncherSight sight{.stage = Stage::gone};
  const std::string there = machine.empty() ? "its machine" : machine;
  if (state.starts_with("CANCELLED")) {
    sight.cancelled = true;
    // "by 1000"
    sight.why = state.size() > 9 ? str_cat("scancel,", state.substr(9)) : "scancel";
  } else if (state == "TIMEOUT" || state == "DEADLINE") {
    sight.why = "Slurm's time limit";
  } else if (state == "NODE_FAIL" || state == "BOOT_FAIL") {
    sight.why = str_cat(there, ", where its launcher ran, is lost");
  } else if (state == "PREEMPTED") {
    sight.why = "preempted: Slurm gave its machines to another job";
  } else if (state == "OUT_OF_MEMORY") {
    sight.why = "out of memory: Slurm has ended its launcher";
  } else if (state.empty()) {
    sight.why = "its launcher has ended without a word, and Slurm no longer knows of it";
  } else {
    const std::string by_slurm = ended_by_slurm(launcher_log());
    sight.why = by_slurm.empty()
                    ? str_cat("its launcher was killed, or could not begin (", state, ")")
                    : str_cat("its launcher was killed: ", by_slurm);
  }
  return sight;
}

// Of an array, whose elements come one after the other: the one that runs, else the next that
// waits, else the last that was.
std::vector<QueueRow> telling(std::vector<QueueRow> rows) {
  if (std::ranges::none_of(rows, [](const QueueRow& row) { return row.element > 0; })) return rows;
  // Those without a number are the rest.
  std::ranges::stable_sort(rows, {}, [](const QueueRow& row) {
    return row.element > 0 ? row.element : std::numeric_limits<int>::max();
  });
  auto row = std::ranges::find_if(rows, [](const QueueRow& it) { return is_running(it.state); });
  if (row == rows.end())
    row = std::ranges::find_if(rows, [](const QueueRow& it) { return is_pending(it.state); });
  return {row == rows.end() ? rows.back() : *row};
}

}  // namespace

std::vector<QueueRow> parse_queue(std::string_view text) {
  std::vector<QueueRow> rows;
  for_each_line(text, [&](std::string_view line) {
    if (std::optional<QueueRow> row = row_of(line)) rows.push_back(std::move(*row));
  });
  return rows;
}

std::string parse_accounting(std::string_view text) {
  std::string state;
  int element = -1;
  for_each_line(text, [&](std::string_view line) {
    const size_t bar = line.find('|');
    QueueRow row;
    if (bar == std::string_view::npos || !read_name(line.substr(0, bar), row)) return;
    if (row.element <= element) return;
    element = row.element;
    state = line.substr(bar + 1);
  });
  return state;
}

std::string ended_by_slurm(std::string_view launcher_log) {
  std::string why;
  for_each_line(launcher_log, [&](std::string_view line) {
    if (line.find(" *** JOB ") == line.npos || line.find(" CANCELLED AT ") == line.npos) return;
    const auto* cause = std::ranges::find_if(
        kCauses, [&](const KnownCause& known) { return line.find(known.mark) != line.npos; });
    why = cause == std::end(kCauses) ? "it was cancelled, as scancel does" : cause->reason;
  });
  return why;
}

std::string requeue_reason(std::string_view launcher_log) {
  std::string_view reason = "Slurm has ended it, and did not say why";
  size_t last = 0;
  for (const KnownCause& cause : kCauses) {
    const size_t at = launcher_log.rfind(cause.mark);
    if (at == std::string_view::npos || at < last) continue;
    last = at;
    reason = cause.reason;
  }
  return std::string(reason);
}

bool is_pending(const QueueRow& row) { return is_pending(row.state); }

bool is_active(const QueueRow& row) { return is_pending(row.state) || is_running(row.state); }

LauncherSight launcher_sight(const std::vector<QueueRow>& rows, const std::string& accounted,
                             LauncherLog launcher_log) {
  std::vector<QueueRow> sorted = telling(rows);
  std::ranges::stable_sort(sorted, {}, &QueueRow::component);
  if (sorted.empty()) {
    if (is_pending(accounted) || is_running(accounted)) return {.stage = Stage::running};
    return gone(accounted, "", launcher_log);
  }
  LauncherSight sight;
  const QueueRow& first = sorted[0];
  if (is_running(first.state)) return sight;
  if (!is_pending(first.state)) return gone(first.state, first.machine, launcher_log);
  sight.stage = Stage::pending;
  for (const QueueRow& row : sorted) {
    sight.waits.push_back(wait_of(row));
    sight.is_stuck = sight.is_stuck || is_stuck(row);
  }
  return sight;
}

std::optional<std::chrono::seconds> parse_time_left(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  int64_t total = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    if (!read_number(text.substr(0, dash), total) || total < 0) return {};
    total *= 24;
    text.remove_prefix(dash + 1);
    // Hours are told with days.
    if (std::ranges::count(text, ':') != 2) return {};
  }
  for (size_t parts = 0;; ++parts) {
    int64_t part = 0;
    const size_t colon = text.find(':');
    if (parts == 3 || !read_number(text.substr(0, colon), part) || part < 0) return {};
    if (total > 1'000'000'000) return {};
    total = (parts == 0 ? total : total * 60) + part;
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return std::chrono::seconds(total);
}

}  // namespace millrace
