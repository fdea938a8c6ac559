#include "millrace/cluster/standby_jobs.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/cluster_spec.h"

namespace millrace {

std::string to_text(const StandbyJobs& jobs) {
  std::string text;
  for (const auto& [job, other] : jobs) str_append(&text, text.empty() ? "" : ",", job, "=", other);
  return text;
}

Result<StandbyJobs> parse_standby_jobs(std::string_view text) {
  StandbyJobs jobs;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t middle = entry.find('=');
    const std::string_view job = entry.substr(0, middle);
    const std::string_view other =
        middle == std::string_view::npos ? std::string_view() : entry.substr(middle + 1);
    if (!is_job_name(job) || !is_job_name(other))
      return invalid("'", entry.substr(0, 100),
                     "' does not say which job stands by for which; "
                     "write for example spare=ps");
    if (!jobs.emplace(job, other).second)
      return invalid("job ", job, " stands by for one other job, not for several");
  }
  return jobs;
}

Result<TaskName> parse_task(std::string_view text) {
  const Result<DeviceName> name = DeviceName::parse(text);
  if (name.ok() && name->job && name->task && !name->type)
    return TaskName{*name->job, 0, *name->task};
  return invalid("'", text.substr(0, 100), "' names no task; write for example /job:chief/task:0");
}

}  // namespace millrace
