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

constexpr std::pair<FarewellEnd, std::string_view> kEnds[] = {
    {FarewellEnd::succeeded, "succeeded"},
    {FarewellEnd::failed, "failed"},
    {FarewellEnd::lost, "lost"},
    {FarewellEnd::asks, "asks"},
};

// Of a job with more tasks not all hear of a success: some of them remember it for the others.
constexpr size_t kMostWitnesses = 64;

}  // namespace

std::string to_line(const Farewell& farewell) {
  const auto* end =
      std::ranges::find(kEnds, farewell.end, &std::pair<FarewellEnd, std::string_view>::first);
  return farewell_line_of({{kFarewellMark, kFarewellVersion},
                           {"token", farewell.token},
                           {"task", farewell.task},
                           {"end", end->second}});
}

std::optional<Farewell> parse_farewell(std::string_view line) {
  const std::optional<Json> json = object_of(line, kFarewellMark);
  if (!json) return {};
  const std::string word = text_of(*json, "end");
  for (const auto& [end, name] : kEnds)
    if (name == word)
      return Farewell{.token = text_of(*json, "token"), .task = text_of(*json, "task"), .end = end};
  return {};
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

Farewells::Farewells(const ClusterSpec& cluster, const TaskName& self, FarewellRules rules,
                     std::string token)
    : self_(self), rules_(std::move(rules)), token_(std::move(token)) {
  const std::string own_name = short_name(self);
  for (const TaskName& task : cluster.tasks()) {
    const std::string name = short_name(task);
    if (name == own_name) continue;
    others_.push_back(task);
    names_.insert(name);
    if (decides(task.job)) awaited_.insert(name);
  }
}

bool Farewells::decides(const std::string& role) const {
  return std::ranges::find(rules_.until, role) != rules_.until.end();
}

std::vector<TaskName> Farewells::to_tell(FarewellEnd end) const {
  std::vector<TaskName> whom;
  size_t witnesses = rules_.are_restarted ? kMostWitnesses : 0;
  if (end == FarewellEnd::succeeded && !decides(self_.job) && witnesses == 0) return whom;
  for (const TaskName& task : others_) {
    if (ended_.contains(short_name(task)) || absent_.contains(short_name(task))) continue;
    const bool has_to_hear = end != FarewellEnd::succeeded || !decides(task.job);
    if (!has_to_hear && witnesses == 0) continue;
    if (!has_to_hear) --witnesses;
    whom.push_back(task);
  }
  return whom;
}

std::vector<TaskName> Farewells::helpers_to_tell() const {
  std::vector<TaskName> helpers;
  if (!decides(self_.job)) return helpers;
  for (const TaskName& task : to_tell(FarewellEnd::succeeded))
    if (!decides(task.job)) helpers.push_back(task);
  return helpers;
}

Farewell Farewells::own(FarewellEnd end) const { return {token_, short_name(self_), end}; }

FarewellEnd Farewells::own_failure() const {
  const auto may_lose = rules_.may_lose.find(self_.job);
  return may_lose == rules_.may_lose.end() || may_lose->second == 0 ? FarewellEnd::failed
                                                                    : FarewellEnd::lost;
}

std::optional<std::string> Farewells::answer(std::string_view line) const {
  const std::optional<Farewell> question = parse_farewell(line);
  if (!question || question->end != FarewellEnd::asks || question->token != token_ ||
      !names_.contains(question->task))
    return {};
  std::string answers;
  for (const auto& [task, end] : ended_) str_append(&answers, to_line({token_, task, end}));
  return answers;
}

bool Farewells::has_lost_too_many(const std::string& task) const {
  const std::string prefix = task.substr(0, task.rfind(':') + 1);
  const auto lost = std::ranges::count_if(ended_, [&](const auto& entry) {
    return entry.second == FarewellEnd::lost && entry.first.starts_with(prefix);
  });
  const auto may_lose = rules_.may_lose.find(prefix.substr(0, prefix.size() - 1));
  return may_lose == rules_.may_lose.end() || lost > may_lose->second;
}

std::optional<std::string> Farewells::heard(std::string_view line) {
  const std::optional<Farewell> farewell = parse_farewell(line);
  if (!farewell || farewell->token != token_ || farewell->end == FarewellEnd::asks ||
      !names_.contains(farewell->task))
    return {};
  ended_.insert_or_assign(farewell->task, farewell->end);
  if (farewell->end == FarewellEnd::failed ||
      (farewell->end == FarewellEnd::lost && has_lost_too_many(farewell->task)))
    return str_cat(farewell->task, " failed");
  awaited_.erase(farewell->task);
  if (decides(self_.job) || !awaited_.empty()) return {};
  return std::string(kJobFinished);
}

bool Farewells::seems_finished() const {
  return !decides(self_.job) && std::ranges::includes(absent_, awaited_);
}

}  // namespace millrace
