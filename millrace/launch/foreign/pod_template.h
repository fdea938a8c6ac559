// A role as Kubernetes' pods are described: one container that is the task, with what it asks of
// its machine. Part of operator_jobs.h.
#pragma once

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/job.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// Fills the role, which is one of import.job's, and what all roles of the job share (volumes,
// directory, grace). A command that is `millrace join ... -- COMMAND` is COMMAND, and what join
// was told of the role and of the job's end is taken. Errors: INVALID_ARGUMENT with the place.
Status read_pod_template(const YamlValue& pod_template, Import& import, RoleSpec& role);

// "Never", "OnFailure", "Always", "ExitCode" (again after signals, not after codes below 128).
// Errors: INVALID_ARGUMENT.
Status read_pod_restart(const YamlValue& value, Import& import, RoleSpec& role);

}  // namespace millrace
