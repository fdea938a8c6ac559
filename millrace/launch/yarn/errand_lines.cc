#include "millrace/launch/yarn/errand_lines.h"

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using nlohmann::json;

std::string line_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json parse(std::string_view line) { return json::parse(line.begin(), line.end(), nullptr, false); }

bool is_text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

bool is_number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer();
}

Status no_sense_in(std::string_view line) { return invalid("a line that makes no sense: ", line); }

json object_of(const ContainerWanted& wanted) {
  json environment = json::object();
  for (const auto& [name, value] : wanted.launch.environment) environment[name] = value;
  return {{"want",
           {{"priority", wanted.wish.priority},
            {"memory", wanted.wish.megabytes},
            {"cores", wanted.wish.cores},
            {"gpus", wanted.wish.gpus},
            {"label", wanted.wish.label},
            {"node", wanted.wish.node},
            {"rack", wanted.wish.rack}}},
          {"command", wanted.launch.command},
          {"environment", std::move(environment)}};
}

}  // namespace

std::string to_line(const ErrandSays& says) {
  if (const auto* wanted = std::get_if<ContainerWanted>(&says)) return line_of(object_of(*wanted));
  return line_of({{"end", true}});
}

std::string to_line(const MasterSays& says) {
  if (const auto* runs = std::get_if<ContainerRuns>(&says))
    return line_of({{"runs", runs->container}, {"on", runs->node}});
  const auto& end = std::get<ContainerEnd>(says);
  return line_of({{"code", end.code}, {"words", end.words}});
}

Result<ErrandSays> parse_errand(std::string_view line) {
  const json object = parse(line);
  if (!object.is_object()) return no_sense_in(line);
  if (object.contains("end")) return ErrandSays(ContainerToEnd{});
  const auto wish = object.find("want");
  const auto environment = object.find("environment");
  if (wish == object.end() || !wish->is_object() || environment == object.end() ||
      !environment->is_object() || !is_text(object, "command") || !is_number(*wish, "priority") ||
      !is_number(*wish, "memory") || !is_number(*wish, "cores") || !is_number(*wish, "gpus") ||
      !is_text(*wish, "label") || !is_text(*wish, "node") || !is_text(*wish, "rack"))
    return no_sense_in(line);
  ContainerWanted wanted{.wish = {.priority = (*wish)["priority"].get<int>(),
                                  .megabytes = (*wish)["memory"].get<int64_t>(),
                                  .cores = (*wish)["cores"].get<int>(),
                                  .gpus = (*wish)["gpus"].get<int>(),
                                  .label = (*wish)["label"].get<std::string>(),
                                  .node = (*wish)["node"].get<std::string>(),
                                  .rack = (*wish)["rack"].get<std::string>()},
                         .launch = {.command = object["command"].get<std::string>()}};
  for (const auto& [name, value] : environment->items()) {
    if (!value.is_string()) return no_sense_in(line);
    wanted.launch.environment.emplace_back(name, value.get<std::string>());
  }
  return ErrandSays(std::move(wanted));
}

Result<MasterSays> parse_master(std::string_view line) {
  const json object = parse(line);
  if (!object.is_object()) return no_sense_in(line);
  if (is_text(object, "runs") && is_text(object, "on"))
    return MasterSays(ContainerRuns{.container = object["runs"].get<std::string>(),
                                    .node = object["on"].get<std::string>()});
  if (is_number(object, "code") && is_text(object, "words"))
    return MasterSays(ContainerEnd{.code = object["code"].get<int>(),
                                   .words = object["words"].get<std::string>()});
  return no_sense_in(line);
}

}  // namespace millrace
