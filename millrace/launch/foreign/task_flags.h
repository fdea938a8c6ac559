// What tasks are told on their command lines, where each has its own line: from the lines of a
// role's tasks to the one with placeholders (launch/placeholders.h) that all of them come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/job.h"

namespace millrace {

// Who a task is, as far as its command line says.
struct ToldTask {
  std::string job = {};
  std::optional<int> index = std::nullopt;
};

// Of --job_name=X and --task_index=K (also as two words each), which become --job_name={job_name}
// and --task_index={task_index}.
ToldTask take_identity(std::vector<std::string>& command);

// --X_hosts=a:1,b:2 becomes --X_hosts={X_hosts} in the commands of roles, if X is one, and
// --job_name=X of the role X becomes --job_name={job_name}; with lines in the account.
void take_flags(Import& import);

// A task that a file describes by itself.
struct LoneTask {
  std::string where;  // "compose.yaml:7: services.ps0"
  ToldTask identity;
  RoleSpec role;  // what it is called unless its identity says; count: as many alike
};

// Makes roles of tasks: those whose identity names one job are its tasks, others roles of their
// own. Errors: INVALID_ARGUMENT if tasks of one role differ in their command, image, environment
// or resources, or if an index is missing or given twice.
Status gather_tasks(std::vector<LoneTask> tasks, Import& import);

}  // namespace millrace
