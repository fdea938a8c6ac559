#include "millrace/launch/arrival.h"

#include <nlohmann/json.hpp>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/json_text.h"
#include "millrace/cluster/task_record.h"
#include "millrace/cluster/tf_config.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kMostIndexDigits = 9;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> text_at(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found != object.end() && found->is_string()) return found->get<std::string>();
  return invalid("'", key, "' is no text");
}

Result<int> port_at(const Json& object, const char* key) {
  constexpr int kMostPort = 65535;
  const Json& port = object[key];
  if (port.is_number_integer() && port >= 0 && port <= kMostPort) return port.get<int>();
  return invalid("'", key, "' is no port");
}

// "map:1"
Result<TaskName> task_of(const std::string& name) {
  const size_t colon = name.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : name.substr(colon + 1);
  const bool is_index = !digits.empty() && digits.size() <= kMostIndexDigits &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_index || !is_job_name(name.substr(0, colon)))
    return invalid("'", name.substr(0, 80), "' is no task");
  return TaskName{name.substr(0, colon), 0, std::stoi(digits)};
}

Result<StillMissing> missing_of(const Json& json) {
  StillMissing missing;
  if (!json["waiting_for"].is_array()) return invalid("'waiting_for' is no list");
  for (const Json& task : json["waiting_for"]) {
    if (!task.is_string()) return invalid("'waiting_for' has what is no task");
    missing.tasks.push_back(task.get<std::string>());
  }
  if (json.contains("more") && json["more"].is_number_integer())
    missing.more = json["more"].get<int>();
  return missing;
}

Result<AllThere> gathered_of(const Json& json) {
  AllThere gathered;
  MR_ASSIGN(TfConfig config, TfConfig::parse_cluster_file(json["cluster"].dump(), "the answer"));
  gathered.cluster = std::move(config.cluster);
  if (!json.contains("environment")) return gathered;
  for (const auto& [name, value] : json["environment"].items()) {
    if (!value.is_string()) return invalid("the value of '", name, "' is no text");
    gathered.environment.emplace_back(name, value.get<std::string>());
  }
  return gathered;
}

}  // namespace

std::string to_line(const Arrival& arrival) {
  Json json = {{"millrace_join", kVersion},
               {"token", arrival.token},
               {"task", short_name(arrival.task)},
               {"address", arrival.address}};
  if (!arrival.machine.empty()) json["machine"] = arrival.machine;
  if (arrival.guests > 0) json["guests"] = arrival.guests;
  return line_of(json);
}

std::string to_line(const ArrivalAnswer& answer) {
  if (const auto* missing = std::get_if<StillMissing>(&answer))
    return line_of({{"waiting_for", missing->tasks}, {"more", missing->more}});
  if (const auto* refused = std::get_if<NotWanted>(&answer))
    return line_of({{"refused", refused->why}});
  if (const auto* there = std::get_if<BeThere>(&answer))
    return line_of({{"be_at", there->address}});
  if (std::holds_alternative<HoldPlace>(answer)) return line_of({{"hold", true}});
  if (std::holds_alternative<LeavePlace>(answer)) return line_of({{"leave", true}});
  if (std::holds_alternative<TakenAddress>(answer)) return line_of({{"taken", true}});
  const auto& gathered = std::get<AllThere>(answer);
  TfConfig config;
  config.cluster = gathered.cluster;
  Json json = Json::parse(to_json(config, JsonLayout::one_line));
  json["environment"] = Json::object();
  for (const auto& [name, value] : gathered.environment) json["environment"][name] = value;
  return line_of(json);
}

Result<Arrival> parse_arrival(std::string_view line) {
  if (line.size() > kLongestArrival) return invalid(line.size(), " bytes are no arrival of a task");
  MR_ASSIGN(const Json json, parse_json(line));
  if (!json.is_object() || !json.contains("millrace_join"))
    return invalid("this is no task that joins");
  if (json["millrace_join"] != kVersion)
    return invalid("the task speaks version ", json["millrace_join"].dump().substr(0, 20),
                   " of joining; ", kVersion, " is understood");
  Arrival arrival;
  MR_ASSIGN(arrival.token, text_at(json, "token"));
  MR_ASSIGN(const std::string task, text_at(json, "task"));
  MR_ASSIGN(arrival.task, task_of(task));
  MR_ASSIGN(arrival.address, text_at(json, "address"));
  MR_TRY(HostPort::parse(arrival.address).status());
  if (json.contains("machine")) {
    MR_ASSIGN(arrival.machine, text_at(json, "machine"));
  }
  if (json.contains("guests")) {
    MR_ASSIGN(arrival.guests, port_at(json, "guests"));
  }
  return arrival;
}

Result<ArrivalAnswer> parse_arrival_answer(std::string_view line) {
  MR_ASSIGN(const Json json, parse_json(line));
  if (!json.is_object()) return invalid("this is no answer to a task that joins");
  if (json.contains("refused")) {
    MR_ASSIGN(std::string why, text_at(json, "refused"));
    return ArrivalAnswer(NotWanted{std::move(why)});
  }
  if (json.contains("be_at")) {
    MR_ASSIGN(std::string address, text_at(json, "be_at"));
    MR_TRY(HostPort::parse(address).status());
    return ArrivalAnswer(BeThere{std::move(address)});
  }
  if (json.contains("hold")) return ArrivalAnswer(HoldPlace{});
  if (json.contains("leave")) return ArrivalAnswer(LeavePlace{});
  if (json.contains("taken")) return ArrivalAnswer(TakenAddress{});
  if (json.contains("waiting_for")) {
    MR_ASSIGN(StillMissing missing, missing_of(json));
    return ArrivalAnswer(std::move(missing));
  }
  if (!json.contains("cluster")) return invalid("this is no answer to a task that joins");
  MR_ASSIGN(AllThere gathered, gathered_of(json));
  return ArrivalAnswer(std::move(gathered));
}

}  // namespace millrace
