#include "millrace/launch/shipping/manifest.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "millrace/cluster/json_text.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/placed_files.h"

namespace millrace {
namespace {

using json = nlohmann::ordered_json;

constexpr int kManifestVersion = 1;
constexpr const char* kKinds[] = {"file", "archive", "programs"};

json to_json(const ShippedFile& file) {
  return {{"name", file.name},
          {"kind", kKinds[static_cast<size_t>(file.kind)]},
          {"size", file.size},
          {"executable", file.is_executable},
          {"sha256", file.digest}};
}

// Every field of its kind.
bool is_file(const json& object) {
  return object.is_object() && object.contains("name") && object["name"].is_string() &&
         object.contains("kind") && object["kind"].is_string() && object.contains("size") &&
         object["size"].is_number_unsigned() && object.contains("executable") &&
         object["executable"].is_boolean() && object.contains("sha256") &&
         object["sha256"].is_string();
}

Result<ShippedFile> file_of(const json& object) {
  if (!is_file(object))
    return invalid("what travels makes no sense: ", object.dump().substr(0, 99));
  ShippedFile file{.name = object["name"],
                   .size = object["size"],
                   .is_executable = object["executable"],
                   .digest = object["sha256"]};
  const auto kind = std::ranges::find(kKinds, object["kind"].get<std::string>());
  if (kind == std::end(kKinds) || !is_digest(file.digest))
    return invalid("what travels makes no sense: ", object.dump().substr(0, 99));
  file.kind = static_cast<ShippedFile::Kind>(kind - kKinds);
  if (!is_plain_name(file.name) || !is_plain_name(place_of(file)))
    return invalid("'", file.name.substr(0, 99), "' is no name in a task's folder");
  return file;
}

bool is_list_of_texts(const json& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const json& item) { return item.is_string(); });
}

}  // namespace

std::string place_of(const ShippedFile& file) {
  if (file.kind == ShippedFile::Kind::programs) return kProgramsFolder;
  return file.kind == ShippedFile::Kind::archive ? placed_as(file.name).name : file.name;
}

std::string to_text(const Manifest& manifest) {
  json files = json::array();
  for (const ShippedFile& file : manifest.files) files.push_back(to_json(file));
  const json whole = {
      {"millrace_files", kManifestVersion}, {"files", files}, {"outputs", manifest.outputs}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text) {
  if (text.size() > kLongestManifest) return invalid("the list of what travels is too long");
  MR_ASSIGN(const json object, parse_json(text));
  if (!object.is_object() || !object.contains("millrace_files"))
    return invalid("this is no list of what travels with a job");
  if (object["millrace_files"] != kManifestVersion)
    return invalid("version ", object["millrace_files"].dump().substr(0, 20),
                   " of what travels with a job; ", kManifestVersion, " is understood");
  if (!object.contains("files") || !object["files"].is_array() || !object.contains("outputs") ||
      !object["outputs"].is_object())
    return invalid("this is no list of what travels with a job");
  Manifest manifest;
  std::set<std::string> places;
  for (const json& one : object["files"]) {
    MR_ASSIGN(ShippedFile file, file_of(one));
    if (!places.insert(place_of(file)).second)
      return invalid("'", place_of(file), "' would be twice in a task's folder");
    manifest.files.push_back(std::move(file));
  }
  for (const auto& [role, patterns] : object["outputs"].items()) {
    if (!is_list_of_texts(patterns)) return invalid("the outputs of ", role, " are no list");
    manifest.outputs[role] = patterns.get<std::vector<std::string>>();
  }
  return manifest;
}

}  // namespace millrace
