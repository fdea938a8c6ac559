// A job in the words of other programs, for `millrace export`: for those who run it there without
// us. The tasks find each other by TF_CONFIG, as the program expects; nothing of ours has to be on
// the machines or in the image. What such a file has no word for is told in notes; what would run
// as something else is an error. Pure.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

struct ExportedJob {
  std::string text;
  std::vector<std::string> notes = {};  // "roles.ps.may_lose: ...", one a line
};

// All: the job passes check() and has a name. Errors: INVALID_ARGUMENT that says which part of the
// job can't be said there, and what takes it.

// kubeflow.org/v1 TFJob: roles chief, master, worker, ps and evaluator. The operator sets
// TF_CONFIG.
Result<ExportedJob> export_tfjob(const JobSpec& job);
// jobset.x-k8s.io/v1alpha2 JobSet, whose pods' names are known before they are there: TF_CONFIG
// stands in it once for each role.
Result<ExportedJob> export_job_set(const JobSpec& job);
// The JSON of YARN's services (a Yarnfile), with names that YARN's DNS gives.
Result<ExportedJob> export_yarn_service(const JobSpec& job);
// A compose file, with a service for each task. At most kMostComposeTasks.
Result<ExportedJob> export_compose(const JobSpec& job);
inline constexpr int kMostComposeTasks = 256;

}  // namespace millrace
