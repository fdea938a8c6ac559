// The files that travel with a job (launch/shipping), as its pods have them: small ones in a Secret
// of the job's own, which every pod mounts; larger ones, and all of a job with outputs, through its
// depot (pod_depot.h). Each task then works in a folder of its own. Part of manifests.h; pure.
//
//   /etc/millrace-files/2cf2…   of the Secret NAME-files: the manifest and each content, by digest
//   /var/millrace/task          empty at first, as large as the machine has room, gone with the pod
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"
#include "millrace/launch/shipping/shipment.h"

namespace millrace {

// More would not fit into one object with all that is around it: the cluster takes 1 MiB.
inline constexpr uint64_t kMostInSecret = 700'000;

struct PodFiles {
  Manifest manifest = {};
  std::string digest = {};  // of the manifest; empty: nothing travels
  bool by_depot = false;
  // By digest, with the manifest, if they go into the Secret. None: the objects are only shown.
  std::map<std::string, std::string> blobs = {};
};
// With all contents that go into the Secret. Errors: UNAVAILABLE with what the system says.
Result<PodFiles> pod_files(const Shipment& shipment);
// As it can be shown.
PodFiles without_contents(PodFiles files);

// What the job's own Secret for files is called, and the object; of a job whose files are small.
std::string files_secret_of(const std::string& job);
nlohmann::ordered_json files_secret(const PodFiles& files);

// To the template of a role's pods: the folder, the files, and how `millrace join` is told.
void add_files(const JobSpec& job, const PodFiles& files, nlohmann::ordered_json& pod_template);

// INVALID_ARGUMENT for files that can't lie in a task's folder, a role that is called as the depot.
Status check_pod_files(const JobSpec& job);

// For people who see the objects without the contents: each file with its size and digest.
std::vector<std::string> file_notes(const JobSpec& job, const PodFiles& files);

}  // namespace millrace
