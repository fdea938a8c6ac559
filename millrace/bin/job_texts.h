// A job as its manager would take it, for the verbs that show it: explain and export.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// The objects, as `kubectl apply -f -` takes them. Errors: as of kubernetes_manifests().
Result<std::string> kubernetes_text(const JobSpec& job);

}  // namespace millrace
