#include "millrace/launch/yarn/staged_job.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/placed_files.h"

namespace millrace {
namespace {

using nlohmann::json;

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

json to_json(const LocalResource& resource) {
  return {{"name", resource.name},
          {"url", resource.url},
          {"size", resource.size},
          {"millis", resource.millis},
          {"archive", resource.is_archive}};
}

// Every field of its kind.
bool is_resource(const json& object) {
  return object.is_object() && object.contains("name") && object["name"].is_string() &&
         object.contains("url") && object["url"].is_string() && object.contains("size") &&
         object["size"].is_number_integer() && object.contains("millis") &&
         object["millis"].is_number_integer() && object.contains("archive") &&
         object["archive"].is_boolean();
}

}  // namespace

std::string to_text(const StagedJob& job) {
  json resources = json::array();
  for (const LocalResource& resource : job.resources) resources.push_back(to_json(resource));
  return json{{"folder", job.folder}, {"token", job.token}, {"resources", resources}}.dump() + "\n";
}

Result<StagedJob> parse_staged_job(std::string_view text) {
  const json object = json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object() || !object.contains("folder") || !object["folder"].is_string() ||
      !object.contains("token") || !object["token"].is_string() || !object.contains("resources") ||
      !object["resources"].is_array() || !std::ranges::all_of(object["resources"], is_resource))
    return invalid("what is known of the job's files makes no sense: ", text.substr(0, 200));
  StagedJob job{.folder = object["folder"], .token = object["token"]};
  for (const json& resource : object["resources"])
    job.resources.push_back({.name = resource["name"],
                             .url = resource["url"],
                             .size = resource["size"],
                             .millis = resource["millis"],
                             .is_archive = resource["archive"]});
  return job;
}

bool is_by_submitter(const JobSpec& job) { return job.staging == kBySubmitter; }

std::string staged_folder_of(const JobSpec& job, const std::string& application) {
  if (is_by_submitter(job)) return "http://SUBMITTER/SECRET";
  std::string folder = job.staging;
  while (folder.ends_with('/')) folder.pop_back();
  return str_cat(folder, "/.millrace/", application);
}

LocalResource staged_file(const std::string& folder, const std::string& path) {
  const PlacedFile placed = placed_as(path);
  return {.name = placed.name,
          .url = str_cat(folder, "/files/", base_name(path)),
          .is_archive = placed.is_archive};
}

LocalResource numbered_file(const std::string& folder, const std::string& path, size_t number) {
  const PlacedFile placed = placed_as(path);
  // By its end YARN knows an archive.
  const std::string_view end =
      placed.is_archive ? base_name(path).substr(placed.name.size()) : std::string_view();
  return {.name = placed.name,
          .url = str_cat(folder, "/files/", number, end),
          .is_archive = placed.is_archive};
}

std::vector<LocalResource> passed_on(const std::vector<LocalResource>& resources) {
  std::vector<LocalResource> passed;
  for (const LocalResource& it : resources) {
    const std::string_view name = base_name(it.url);
    const bool is_file = it.url.ends_with(str_cat("/files/", name));
    passed.push_back(
        {.name = str_cat("job/", kSentFolder, is_file ? "/files/" : "/", name), .url = it.url});
  }
  return passed;
}

std::string door_of(const StagedJob& job) {
  return job.folder.starts_with("http://") ? std::string(base_name(job.folder)) : std::string();
}

std::vector<LocalResource> served_by(const StagedJob& job, const std::string& address) {
  std::vector<LocalResource> resources = job.resources;
  for (LocalResource& it : resources)
    it.url = str_cat("http://", address, "/", door_of(job), it.url.substr(job.folder.size()));
  return resources;
}

LocalResource staged_programs(const std::string& folder) {
  return {.name = kProgramsFolder, .url = str_cat(folder, "/programs.tar"), .is_archive = true};
}

std::vector<LocalResource> staged_for_launcher(const std::string& folder) {
  std::vector<LocalResource> resources = {staged_programs(folder)};
  for (const char* name : {"job.yaml", kStagedFile, kRacksFile})
    resources.push_back({.name = str_cat("job/", name), .url = str_cat(folder, "/", name)});
  return resources;
}

Status check_staged(const JobSpec& job) { return check_placed(job, "job"); }

}  // namespace millrace
