#include "millrace/cluster/task_record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using nlohmann::ordered_json;

constexpr const char* kVersionKey = "millrace_task";
constexpr int kVersion = 1;
constexpr size_t kNamedOthers = 8;
constexpr std::array<std::string_view, 3> kHow = {"completed", "input exhausted", "failed"};
// How much of a text is kept, from the first try on until the line is short enough.
constexpr std::array<size_t, 4> kCuts = {1000, 250, 60, 0};

std::string cut(std::string_view text, size_t most) {
  std::string line(text.substr(0, most));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void write_others(const TaskWaitsFor& waits, size_t most, ordered_json& json) {
  ordered_json& others = json["for"] = ordered_json::array();
  for (const TaskWaitsFor::Other& other : waits.others) {
    if (others.size() == kNamedOthers) break;
    others.push_back({{"task", cut(other.task, most)}, {"address", cut(other.address, most)}});
    if (!other.why.empty()) others.back()["why"] = cut(other.why, most / 4);
  }
  const int more = waits.more + static_cast<int>(waits.others.size() - others.size());
  if (more > 0) json["more"] = more;
}

void write_end(const TaskEnds& end, size_t most, ordered_json& json) {
  json["end"] = kHow[static_cast<size_t>(end.how)];
  if (end.code != Code::ok) json["code"] = code_name(end.code);
  if (end.how == TaskEnds::How::failed) json["consequence"] = end.is_consequence;
  if (!end.by.empty()) json["by"] = cut(end.by, most);
  if (!end.error.empty()) json["error"] = cut(end.error, most);
  if (!end.stopped_by.empty()) json["stopped_by"] = cut(end.stopped_by, most);
}

std::string line_of(const TaskRecord& record, size_t most) {
  ordered_json json = {{kVersionKey, kVersion}, {"event", ""}};
  if (!record.task.empty()) json["task"] = cut(record.task, most);
  if (const auto* began = std::get_if<TaskBegan>(&record.event)) {
    json["event"] = "started";
    json["pid"] = began->pid;
  } else if (const auto* serves = std::get_if<TaskServes>(&record.event)) {
    json["event"] = "serving";
    json["address"] = cut(serves->address, most);
  } else if (const auto* waits = std::get_if<TaskWaitsFor>(&record.event)) {
    json["event"] = "waiting";
    json["what"] = cut(waits->what, most);
    write_others(*waits, most, json);
  } else {
    json["event"] = "ended";
    write_end(std::get<TaskEnds>(record.event), most, json);
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string text_at(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t number_at(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

TaskWaitsFor read_waits(const ordered_json& json) {
  TaskWaitsFor waits{.what = text_at(json, "what"), .others = {}, .more = 0};
  waits.more = static_cast<int>(std::clamp<int64_t>(number_at(json, "more"), 0, 1'000'000));
  const auto others = json.find("for");
  if (others == json.end() || !others->is_array()) return waits;
  for (const ordered_json& other : *others)
    waits.others.push_back(
        {text_at(other, "task"), text_at(other, "address"), text_at(other, "why")});
  return waits;
}

Code code_named(const std::string& name) {
  for (int code = 1; code <= 16; ++code)
    if (name == code_name(static_cast<Code>(code))) return static_cast<Code>(code);
  return Code::ok;
}

std::optional<TaskEvent> read_end(const ordered_json& json) {
  const auto how = std::find(kHow.begin(), kHow.end(), text_at(json, "end"));
  if (how == kHow.end()) return {};
  TaskEnds end;
  end.how = static_cast<TaskEnds::How>(how - kHow.begin());
  end.code = code_named(text_at(json, "code"));
  end.is_consequence = json.value("consequence", ordered_json()) == true;
  end.by = text_at(json, "by");
  end.error = text_at(json, "error");
  end.stopped_by = text_at(json, "stopped_by");
  return end;
}

std::optional<TaskEvent> read_event(const ordered_json& json) {
  const std::string event = text_at(json, "event");
  if (event == "started") return TaskBegan{number_at(json, "pid")};
  if (event == "serving") return TaskServes{text_at(json, "address")};
  if (event == "waiting") return read_waits(json);
  if (event == "ended") return read_end(json);
  return {};
}

// Errors that tell of what happened to somebody else: a peer that is gone, a step that it ended.
bool is_told_of_others(Code code) {
  return code == Code::unavailable || code == Code::cancelled || code == Code::aborted;
}

// The first task that a message names, "ps:0" for "/job:ps/replica:0/task:0".
std::string task_named_in(std::string_view message) {
  constexpr std::string_view kBegin = "/job:";
  const size_t begin = message.find(kBegin);
  if (begin == message.npos) return "";
  const std::string_view rest = message.substr(begin);
  const size_t task = rest.find("/task:");
  if (task == rest.npos) return "";
  const size_t end = rest.find_first_not_of("0123456789", task + 6);
  const auto name = DeviceName::parse(rest.substr(0, end));
  return name.ok() && name->names_task() ? short_name(name->task_name()) : "";
}

}  // namespace

std::string to_line(const TaskRecord& record) {
  std::string line;
  for (const size_t most : kCuts) {
    line = line_of(record, most);
    if (line.size() <= kLongestRecord) break;
  }
  return line;
}

std::optional<TaskRecord> parse_task_record(std::string_view line) {
  const ordered_json json = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || number_at(json, kVersionKey) != kVersion) return {};
  std::optional<TaskEvent> event = read_event(json);
  if (!event) return {};
  return TaskRecord{text_at(json, "task"), std::move(*event)};
}

TaskEnds end_of(const Status& status, std::string_view error) {
  TaskEnds end;
  if (status.ok() && error.empty()) return end;
  end.how = tells_end_of_input(status.message()) && status.code() == Code::out_of_range
                ? TaskEnds::How::input_exhausted
                : TaskEnds::How::failed;
  end.code = status.code();
  end.is_consequence = status.is_consequence() || is_told_of_others(status.code());
  if (end.is_consequence) end.by = task_named_in(status.message());
  end.error = error.empty() ? status.to_string() : std::string(error);
  return end;
}

std::string short_name(const TaskName& task) { return str_cat(task.job, ":", task.task); }

bool tells_end_of_input(std::string_view message) {
  for (const std::string_view mark : {"is closed and has insufficient elements", "End of sequence",
                                      "Reached limit of", "reached limit of"})
    if (message.find(mark) != message.npos) return true;
  return false;
}

}  // namespace millrace
