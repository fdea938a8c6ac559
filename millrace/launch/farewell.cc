#include "millrace/launch/farewell.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/cluster/task_record.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFarewellMark = "millrace_farewell";
constexpr const char* kStopMark = "millrace_stop";
constexpr int kFarewellVersion = 1;

// An object of ours, or nothing.
std::optional<Json> object_of(std::string_view line, const char* mark) {
  if (line.size() > kLongestFarewell) return {};
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains(mark) || json[mark] != kFarewellVersion) return {};
  return json;
}

std::string text_of(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string farewell_line_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_line(const Farewell& farewell) {
  return farewell_line_of(
      {{kFarewellMark, kFarewellVersion},
       {"token", farewell.token},
       {"task", farewell.task},
       {"end", farewell.end == FarewellEnd::succeeded ? "succeeded" : "failed"}});
}

std::optional<Farewell> parse_farewell(std::string_view line) {
  const std::optional<Json> json = object_of(line, kFarewellMark);
  if (!json) return {};
  const std::string end = text_of(*json, "end");
  if (end != "succeeded" && end != "failed") return {};
  return Farewell{.token = text_of(*json, "token"),
                  .task = text_of(*json, "task"),
                  .end = end == "failed" ? FarewellEnd::failed : FarewellEnd::succeeded};
}

std::string stop_line(std::string_view why) {
  return farewell_line_of(
      {{kStopMark, kFarewellVersion}, {"why", std::string(why.substr(0, 200))}});
}

std::optional<std::string> parse_stop_line(std::string_view line) {
  const std::optional<Json> json = object_of(line, kStopMark);
  if (!json) return {};
  return text_of(*json, "why");
}

Farewells::Farewells(const ClusterSpec& cluster, const TaskName& self,
                     const std::vector<std::string>& until, std::string token)
    : self_(self), until_(until.begin(), until.end()), token_(std::move(token)) {
  const std::string own_name = short_name(self);
  for (const TaskName& task : cluster.tasks()) {
    const std::string name = short_name(task);
    if (name == own_name) continue;
    others_.push_back(task);
    names_.insert(name);
    if (decides(task.job)) awaited_.insert(name);
  }
}

bool Farewells::decides(const std::string& role) const { return until_.contains(role); }

std::vector<TaskName> Farewells::to_tell(FarewellEnd end) const {
  if (end == FarewellEnd::failed) return others_;
  std::vector<TaskName> helpers;
  if (!decides(self_.job)) return helpers;
  for (const TaskName& task : others_)
    if (!decides(task.job)) helpers.push_back(task);
  return helpers;
}

Farewell Farewells::own(FarewellEnd end) const { return {token_, short_name(self_), end}; }

std::optional<std::string> Farewells::heard(std::string_view line) {
  const std::optional<Farewell> farewell = parse_farewell(line);
  if (!farewell || farewell->token != token_ || !names_.contains(farewell->task)) return {};
  if (farewell->end == FarewellEnd::failed) return str_cat(farewell->task, " failed");
  awaited_.erase(farewell->task);
  if (decides(self_.job) || !awaited_.empty()) return {};
  return std::string(kJobFinished);
}

bool Farewells::seems_finished() const {
  return !decides(self_.job) && std::ranges::includes(absent_, awaited_);
}

}  // namespace millrace
