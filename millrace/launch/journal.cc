#include "millrace/launch/journal.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/task_record.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

int64_t number_of(Clock::Time time) { return time.time_since_epoch().count(); }

std::string journal_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json end_json(const TaskEnded& end) {
  Json json = {{"task", end.task}};
  const ExitFacts& facts = end.facts;
  auto put_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  if (facts.code) json["code"] = *facts.code;
  if (facts.signal) json["signal"] = *facts.signal;
  put_text("start_error", facts.start_error);
  put_text("taken_away", facts.taken_away);
  if (facts.place_is_gone) json["place_is_gone"] = true;
  if (facts.out_of_memory_kill) json["out_of_memory"] = true;
  if (facts.lost) json["lost"] = true;
  put_text("first", facts.first_error_line);
  put_text("last", facts.last_error_line);
  if (facts.ends_with_error) json["last_words"] = true;
  if (facts.told) json["told"] = to_line(TaskRecord{.event = *facts.told});
  if (end.peak_memory) json["memory"] = *end.peak_memory;
  return json;
}

void put_event(Json& json, const TaskStarted& event) { json["started"] = event.task; }
void put_event(Json& json, const TasksEnded& event) {
  json["ended"] = Json::array();
  for (const TaskEnded& end : event.ends) json["ended"].push_back(end_json(end));
}
void put_event(Json& json, const TaskWaits& event) {
  json["waits"] = event.task;
  json["for"] = event.others;
}
void put_event(Json& json, const RoleScaled& event) {
  json["scaled"] = event.role;
  json["to"] = event.count;
  json["by"] = event.by;
  json["wish"] = event.wish;
}
void put_event(Json& json, const Interrupted& event) { json["interrupted"] = event.by; }
void put_event(Json& json, const TimePassed&) { json["time"] = true; }
void put_event(Json& json, const SupervisionEvent& event) {
  std::visit([&](const auto& it) { put_event(json, it); }, event);
}
void put_event(Json& json, const TaskCame& event) {
  json["came"] = event.task;
  json["address"] = event.address;
  if (!event.machine.empty()) json["machine"] = event.machine;
  if (event.guests > 0) json["guests"] = event.guests;
}
void put_event(Json& json, const TaskLeft& event) { json["left"] = event.task; }
void put_event(Json& json, const WishRefused& event) {
  json["refused"] = event.why;
  json["wish"] = event.wish;
}
void put_event(Json& json, const LaunchOver&) { json["over"] = true; }

// --- reading, whatever is in it ---

template <class T>
std::optional<T> number_at(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number_integer()) return {};
  return it->get<T>();
}

std::string text_in(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

bool flag_at(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && *it == true;
}

std::optional<TimeWarning> warning_in(const Json& json) {
  const auto before = number_at<int64_t>(json, "warned");
  const auto signal = number_at<int>(json, "signal");
  if (!before || !signal) return {};
  return TimeWarning{Clock::Duration(*before), *signal};
}

std::vector<int> attempts_in_start(const Json& json) {
  std::vector<int> attempts;
  const auto list = json.find("attempts");
  if (list == json.end() || !list->is_array()) return attempts;
  for (const Json& count : *list)
    attempts.push_back(count.is_number_integer() ? std::max(0, count.get<int>()) : 0);
  return attempts;
}

class Reader {
 public:
  explicit Reader(size_t num_tasks) : num_tasks_(num_tasks) {}

  std::optional<JournalEntry> entry(const Json& json) const {
    const auto at = number_at<int64_t>(json, "at");
    if (!at) return {};
    auto event = what(json);
    if (!event) return {};
    return JournalEntry{Clock::Time(Clock::Duration(*at)), std::move(*event)};
  }

 private:
  using What = decltype(JournalEntry::what);

  std::optional<size_t> task(const Json& json, const char* key) const {
    const auto number = number_at<int64_t>(json, key);
    if (!number || *number < 0 || static_cast<size_t>(*number) >= num_tasks_) return {};
    return static_cast<size_t>(*number);
  }

  std::optional<What> what(const Json& json) const {
    if (const auto it = task(json, "started")) return SupervisionEvent(TaskStarted{*it});
    if (const auto it = task(json, "came"))
      return TaskCame{*it, text_in(json, "address"), text_in(json, "machine"),
                      number_at<int>(json, "guests").value_or(0)};
    if (const auto it = task(json, "left")) return TaskLeft{*it};
    if (const auto it = task(json, "waits")) return SupervisionEvent(TaskWaits{*it, others(json)});
    if (json.contains("scaled")) return scaled(json);
    if (json.contains("refused"))
      return WishRefused{text_in(json, "wish"), text_in(json, "refused")};
    if (json.contains("interrupted"))
      return SupervisionEvent(Interrupted{text_in(json, "interrupted")});
    if (flag_at(json, "time")) return SupervisionEvent(TimePassed{});
    if (flag_at(json, "over")) return LaunchOver{};
    return ends(json);
  }

  std::optional<What> scaled(const Json& json) const {
    const auto role = number_at<int64_t>(json, "scaled");
    const auto count = number_at<int64_t>(json, "to");
    // As many roles and tasks as there are at most.
    const auto most = static_cast<int64_t>(num_tasks_);
    if (!role || *role < 0 || *role >= most || !count || *count < 1 || *count > most) return {};
    return SupervisionEvent(RoleScaled{.role = static_cast<size_t>(*role),
                                       .count = static_cast<int>(*count),
                                       .by = text_in(json, "by"),
                                       .wish = text_in(json, "wish")});
  }

  static std::vector<std::string> others(const Json& json) {
    std::vector<std::string> names;
    const auto list = json.find("for");
    if (list == json.end() || !list->is_array()) return names;
    for (const Json& name : *list)
      if (name.is_string()) names.push_back(name.get<std::string>());
    return names;
  }

  std::optional<What> ends(const Json& json) const {
    const auto list = json.find("ended");
    if (list == json.end() || !list->is_array()) return {};
    TasksEnded ended;
    for (const Json& end : *list) {
      const auto number = end.is_object() ? task(end, "task") : std::nullopt;
      if (!number) return {};
      ended.ends.push_back({*number, facts(end), number_at<int64_t>(end, "memory")});
    }
    return SupervisionEvent(std::move(ended));
  }

  static ExitFacts facts(const Json& end) {
    ExitFacts facts{.code = number_at<int>(end, "code"),
                    .signal = number_at<int>(end, "signal"),
                    .start_error = text_in(end, "start_error"),
                    .taken_away = text_in(end, "taken_away"),
                    .place_is_gone = flag_at(end, "place_is_gone"),
                    .out_of_memory_kill = flag_at(end, "out_of_memory"),
                    .lost = flag_at(end, "lost"),
                    .first_error_line = text_in(end, "first"),
                    .last_error_line = text_in(end, "last"),
                    .ends_with_error = flag_at(end, "last_words")};
    if (const auto record = parse_task_record(text_in(end, "told")))
      if (const auto* told = std::get_if<TaskEnds>(&record->event)) facts.told = *told;
    return facts;
  }

  const size_t num_tasks_;
};

std::optional<JournalStart> start_of(const Json& json) {
  const auto version = number_at<int>(json, "millrace_journal");
  const auto at = number_at<int64_t>(json, "at");
  if (version != 1 || !at) return {};
  JournalStart start{.at = Clock::Time(Clock::Duration(*at)),
                     .wall_micros = number_at<int64_t>(json, "begun").value_or(0),
                     .seed = number_at<uint64_t>(json, "seed").value_or(0),
                     .late = flag_at(json, "late")};
  if (const auto limit = number_at<int64_t>(json, "time_limit"))
    start.time_limit = Clock::Duration(*limit);
  start.warning = warning_in(json);
  start.life = std::max(1, number_at<int>(json, "life").value_or(1));
  start.run = number_at<int>(json, "run").value_or(0);
  start.runs = number_at<int>(json, "runs").value_or(0);
  start.why = text_in(json, "why");
  start.attempts = attempts_in_start(json);
  return start;
}

}  // namespace

std::string to_line(const JournalStart& start) {
  Json json = {{"millrace_journal", 1},
               {"at", number_of(start.at)},
               {"begun", start.wall_micros},
               {"seed", start.seed}};
  if (start.late) json["late"] = true;
  if (start.time_limit) json["time_limit"] = start.time_limit->count();
  if (start.warning) {
    json["warned"] = start.warning->before.count();
    json["signal"] = start.warning->signal;
  }
  if (start.runs > 0) {
    json["run"] = start.run;
    json["runs"] = start.runs;
  }
  if (start.life > 1) {
    json["life"] = start.life;
    json["why"] = start.why;
    json["attempts"] = start.attempts;
  }
  return journal_line(json);
}

std::string to_line(const JournalEntry& entry) {
  Json json = {{"at", number_of(entry.at)}};
  std::visit([&](const auto& it) { put_event(json, it); }, entry.what);
  return journal_line(json);
}

Journal parse_journal(std::string_view text, size_t num_tasks) {
  Journal journal;
  const Reader reader(num_tasks);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const Json json = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    if (!json.is_object()) break;
    if (!journal.start) {
      journal.start = start_of(json);
      if (!journal.start) break;
      continue;
    }
    auto entry = reader.entry(json);
    if (!entry) break;
    journal.entries.push_back(std::move(*entry));
  }
  return journal;
}

std::vector<int> attempts_in(const Journal& journal, size_t num_tasks) {
  std::vector<int> attempts = journal.start ? journal.start->attempts : std::vector<int>();
  attempts.resize(num_tasks);
  for (const JournalEntry& entry : journal.entries) {
    const auto* event = std::get_if<SupervisionEvent>(&entry.what);
    const auto* started = event == nullptr ? nullptr : std::get_if<TaskStarted>(event);
    if (started != nullptr) ++attempts[started->task];
  }
  return attempts;
}

std::vector<SupervisedTask> supervised_tasks(const JobSpec& job) {
  std::vector<SupervisedTask> tasks;
  const std::vector<std::string> deciding = deciding_roles(job);
  for (size_t role = 0; role < job.roles.size(); ++role) {
    const std::string& name = job.roles[role].name;
    const bool decides = std::ranges::find(deciding, name) != deciding.end();
    for (int index = 0; index < most_of(job.roles[role]); ++index)
      tasks.push_back({.name = str_cat(name, ":", index),
                       .decides = decides,
                       .role = role,
                       .is_absent = index >= job.roles[role].count});
  }
  return tasks;
}

Supervision supervision_of(const JobSpec& job, const JournalStart& start, Random& random) {
  std::vector<RoleRules> rules;
  for (const RoleSpec& role : job.roles)
    rules.push_back({.restart = role.restart, .may_lose = role.may_lose.of(role.count)});
  std::vector<SupervisedTask> tasks = supervised_tasks(job);
  for (size_t i = 0; i < tasks.size() && i < start.attempts.size(); ++i)
    tasks[i].attempts_before = start.attempts[i];
  const SupervisionLimits limits{
      .grace = time_to_end(job), .time_limit = start.time_limit, .warning = start.warning};
  return {tasks, std::move(rules), limits, start.at, random};
}

}  // namespace millrace
