// What all exports do: the commands and TF_CONFIG of tasks whose addresses are known before they
// run. Part of export_job.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/job.h"

namespace millrace {

// The cluster of a job whose task `index` of a role is at the address that the function gives.
Result<ClusterSpec> exported_cluster(
    const JobSpec& job, const std::function<std::string(const RoleSpec&, int index)>& address);

// The command of a role's tasks with placeholders filled in; for {task_index}, `index`: what stands
// for it there, or the number of one task. `escaped` makes the command's own words mean themselves.
std::vector<std::string> exported_command(const JobSpec& job, const RoleSpec& role,
                                          const ClusterSpec& cluster, std::string_view index,
                                          const std::function<std::string(std::string)>& escaped);

// TF_CONFIG in one line; for the index stands `index`, as it is.
std::string exported_config(const ClusterSpec& cluster, const RoleSpec& role,
                            std::string_view index);

// What check() demands, and a name. `format` is for messages.
Status check_export(const JobSpec& job, std::string_view format);
// INVALID_ARGUMENT if a secret has its value from elsewhere than `format` can say: from a cluster's
// Secret alone, or from nowhere.
enum class SecretWords { none, of_cluster };
Status check_exported_secrets(const JobSpec& job, std::string_view format, SecretWords words);
// Notes of ports and of what is asked of managers, for formats that have no words for it.
void note_wishes(const JobSpec& job, ExportedJob& exported);
// INVALID_ARGUMENT unless each role has an image.
Status check_images(const JobSpec& job, std::string_view format);
const std::string& image_of(const JobSpec& job, const RoleSpec& role);

// Notes of what no other format says the way we do: may_lose, min and max, and restarts within a
// time, after some failures, with pauses.
void note_restarts(const JobSpec& job, ExportedJob& exported);

}  // namespace millrace
