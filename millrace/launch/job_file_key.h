// How tables of a job file's keys are made, and what is made of such a table: the reader of a map
// with those keys, its schema, its reference. Part of job_file.h, shared with the sections that
// stand in files of their own; pure.
//
//   constexpr Key<Thing> kThingKeys[] = {
//       {"size", kWhole, "0", "How large it is.",
//        [](const YamlValue& value, Thing& thing) { return put(value.whole_number(0, 9),
//        thing.size); }}};
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/nearest_name.h"
#include "millrace/launch/yaml_value.h"

namespace millrace::job_file {

using Json = nlohmann::ordered_json;

// What the values of a key look like.
struct ValueType {
  std::string_view name;    // for people
  std::string_view schema;  // JSON Schema
};

inline constexpr ValueType kText{"text", R"({"type": ["string", "number", "boolean"]})"};
inline constexpr ValueType kWhole{"whole number", R"({"type": "integer", "minimum": 0})"};
inline constexpr ValueType kBytes{
    "memory: 512Mi, 2Gi",
    R"({"type": ["string", "integer"], "pattern": "^[0-9.]+([kKMGT]|[KMGT]i)?$"})"};
inline constexpr ValueType kDuration{
    "duration: 90s, 10m, 2h",
    R"({"type": ["string", "number"], "pattern": "^[0-9.]+(ms|s|m|h)?$"})"};
inline constexpr ValueType kWords{
    "a line, or a list of words",
    R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]})"};
inline constexpr ValueType kTexts{
    "keys with texts",
    R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})"};
inline constexpr ValueType kYesNo{"true, false", R"({"type": "boolean"})"};

template <class Target>
struct Key {
  std::string_view name;
  ValueType type;
  std::string_view otherwise;  // what holds if it is left out
  std::string_view meaning;
  Status (*read)(const YamlValue& value, Target& target);
};

template <class T>
Status put(Result<T> value, T& place) {
  if (!value.ok()) return value.status();
  place = std::move(*value);
  return {};
}

// Of keys with texts.
inline Status put_labels(const YamlValue& value, std::map<std::string, std::string>& labels) {
  MR_ASSIGN(const auto texts, value.texts());
  labels = {texts.begin(), texts.end()};
  return {};
}

// A text of the file as `parse` reads it.
template <class T>
Status put_parsed(const YamlValue& value, Result<T> (*parse)(std::string_view), T& place) {
  MR_ASSIGN(const std::string text, value.text());
  Result<T> parsed = parse(text);
  if (!parsed.ok()) return value.refuse(parsed.status().message());
  place = std::move(*parsed);
  return {};
}

inline Status put_yes_no(const YamlValue& value, bool& place) {
  MR_ASSIGN(const std::string text, value.text());
  if (text != "true" && text != "false") return value.refuse("neither true nor false");
  place = text == "true";
  return {};
}

// Errors: as of the keys; for one that there isn't, the nearest one that there is.
template <class Target>
Status read_keys(const YamlValue& map, std::span<const Key<Target>> keys, Target& target) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, map.entries());
  for (const YamlValue::Entry& entry : entries) {
    auto key = std::ranges::find(keys, std::string_view(entry.key), &Key<Target>::name);
    if (key != keys.end()) {
      MR_TRY(key->read(entry.value, target));
      continue;
    }
    std::vector<std::string_view> names;
    for (const Key<Target>& known : keys) names.push_back(known.name);
    std::string list;
    for (std::string_view name : names) str_append(&list, list.empty() ? "" : ", ", name);
    const std::string_view near = nearest_name(entry.key, names);
    return entry.value.refuse("there is no such key",
                              near.empty() ? "" : str_cat("; did you mean '", near, "'?"),
                              " There are: ", list);
  }
  return {};
}

template <class Target>
Json schema_of(std::span<const Key<Target>> keys) {
  Json properties = Json::object();
  for (const Key<Target>& key : keys) {
    Json schema = Json::parse(key.type.schema);
    schema["description"] = std::string(key.meaning);
    properties[std::string(key.name)] = std::move(schema);
  }
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

template <class Target>
std::string reference_of(std::span<const Key<Target>> keys) {
  std::string text = "| key | takes | otherwise | meaning |\n|---|---|---|---|\n";
  for (const Key<Target>& key : keys)
    str_append(&text, "| `", key.name, "` | ", key.type.name, " | ", key.otherwise, " | ",
               key.meaning, " |\n");
  return text;
}

}  // namespace millrace::job_file
