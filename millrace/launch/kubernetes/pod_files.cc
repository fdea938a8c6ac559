#include "millrace/launch/kubernetes/pod_files.h"

#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/pod_depot.h"
#include "millrace/launch/shipping/baggage.h"
#include "millrace/launch/shipping/placed_files.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFilesDirectory = "/etc/millrace-files";
constexpr const char* kTaskDirectory = "/var/millrace/task";

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

Result<std::string> bytes_of(const Shipment& shipment, const std::string& digest) {
  MR_ASSIGN(const BlobShelf::Blob blob, shipment.find(digest));
  std::string bytes(blob.size, '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t size =
        pread(blob.descriptor, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (size <= 0) return said_by_system_of("can't read", "the copy of a file");
    at += static_cast<size_t>(size);
  }
  return bytes;
}

}  // namespace

Result<PodFiles> pod_files(const Shipment& shipment) {
  PodFiles files{.manifest = shipment.manifest(), .digest = shipment.digest()};
  MR_ASSIGN(const BlobShelf::Blob list, shipment.find(shipment.digest()));
  const uint64_t all = shipment.num_bytes() + list.size;
  files.by_depot = !files.manifest.outputs.empty() || all > kMostInSecret;
  if (files.by_depot) return files;
  std::vector<std::string> digests = {files.digest};
  for (const ShippedFile& file : files.manifest.files) digests.push_back(file.digest);
  for (const std::string& digest : digests) {
    MR_ASSIGN(files.blobs[digest], bytes_of(shipment, digest));
  }
  return files;
}

PodFiles without_contents(PodFiles files) {
  files.blobs.clear();
  return files;
}

std::string files_secret_of(const std::string& job) { return job + "-files"; }

Json files_secret(const PodFiles& files) {
  Json data = Json::object();
  for (const auto& [digest, bytes] : files.blobs) data[digest] = to_base64(bytes);
  // Nobody has to look whether it has changed.
  return {{"immutable", true}, {"data", std::move(data)}};
}

void add_files(const JobSpec& job, const PodFiles& files, Json& pod_template) {
  if (files.digest.empty()) return;
  Json& pod = pod_template["spec"];
  Json& container = pod["containers"][0];
  const std::string at = files.by_depot ? depot_address(job.name) : kFilesDirectory;
  const Json words = {kFilesFlag, str_cat(at, "/", files.digest), "--folder", kTaskDirectory};
  Json& command = container["command"];
  command.insert(std::ranges::find(command, Json("--")), words.begin(), words.end());
  // `millrace exec` begins there, too.
  container["workingDir"] = kTaskDirectory;
  container["volumeMounts"].push_back({{"name", "task"}, {"mountPath", kTaskDirectory}});
  pod["volumes"].push_back({{"name", "task"}, {"emptyDir", Json::object()}});
  if (files.by_depot) return;
  container["volumeMounts"].push_back(
      {{"name", "files"}, {"mountPath", kFilesDirectory}, {"readOnly", true}});
  pod["volumes"].push_back(
      {{"name", "files"}, {"secret", {{"secretName", files_secret_of(job.name)}}}});
}

Status check_pod_files(const JobSpec& job) {
  if (!has_task_folders(job)) return {};
  MR_TRY(check_placed(job));
  for (const RoleSpec& role : job.roles)
    if (dns_name_of(role.name) == kDepot)
      return invalid("role '", role.name, "': what keeps the job's files is called '", kDepot,
                     "' in Kubernetes; give the role another name");
  return {};
}

std::vector<std::string> file_notes(const JobSpec& job, const PodFiles& files) {
  std::vector<std::string> notes;
  if (files.digest.empty()) return notes;
  const std::string way = files.by_depot
                              ? str_cat("submit brings it to the pod of Job ", depot_of(job.name))
                              : str_cat("submit puts it into Secret ", files_secret_of(job.name),
                                        ", which is empty below");
  for (const ShippedFile& file : files.manifest.files)
    notes.push_back(
        str_cat(file.name, ", ", file.size, " bytes, SHA-256 ", file.digest, ": ", way));
  for (const auto& [role, patterns] : files.manifest.outputs)
    for (const std::string& pattern : patterns)
      notes.push_back(str_cat(
          "comes back of ", role, ": ", pattern, ", by way of Job ", depot_of(job.name), ", to ",
          job.output_dir.empty() ? kOutputs : job.output_dir, "/", role, "_INDEX"));
  return notes;
}

}  // namespace millrace
