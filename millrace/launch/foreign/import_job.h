// Jobs as other programs write them down, as our own: for `millrace import`.
//
//   TFJob, PyTorchJob, MPIJob (v1, v1beta1)   Kubernetes' training operators
//   JobSet, Job                               Kubernetes
//   resources.json, appConfig.json, metainfo.json   Apache Slider, in any order
//   a Yarnfile                                services of YARN
//   a script with #SBATCH lines               Slurm
//   a compose file                            docker compose
//   TF_CONFIG, as JSON or set by scripts      of one task of a cluster, or of all
//
// Which one it is, the text tells. Pure.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/job.h"

namespace millrace {

struct ImportedJob {
  JobSpec job;  // passes check()
  // A line for each value of the files: "took  FILE:LINE: PATH: KEY", "left  FILE:LINE: PATH: why".
  std::vector<std::string> account;
};

// `command` is that of every role for which the files have none. Errors: INVALID_ARGUMENT with file
// and line, for files that are none of these, that can't be read as one, or of which no job comes.
Result<ImportedJob> import_job(const std::vector<SourceFile>& files,
                               const std::vector<std::string>& command);

}  // namespace millrace
