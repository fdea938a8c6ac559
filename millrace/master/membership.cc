#include "millrace/master/membership.h"

#include <algorithm>
#include <set>

namespace millrace {

namespace {

DeviceName as_device(const TaskName& task) {
  return {.job = task.job, .replica = task.replica, .task = task.task, .type = {}, .id = {}};
}

// "grpc://host:port" -> "host:port"
std::string_view without_scheme(std::string_view target) {
  const size_t end = target.find("://");
  return end == std::string_view::npos ? target : target.substr(end + 3);
}

Result<TaskName> find_self(const ClusterSpec& sent, const TaskName& own_task,
                           std::string_view target) {
  const std::string_view address = without_scheme(target);
  std::vector<TaskName> found;
  for (const TaskName& task : sent.tasks()) {
    MR_ASSIGN(const std::string listed, sent.address(task));
    if (listed == address) found.push_back(task);
  }
  if (found.empty()) {
    return invalid(
        "The master (current machine) is not included in the provided cluster_def. The "
        "session was opened at '",
        target, "'; the cluster is ", sent.to_string(),
        ". Write the master's address there as in the session's target.");
  }
  if (found.size() > 1) {
    return invalid("the provided cluster_def has the master's address '", address, "' for both ",
                   found[0].to_string(), " and ", found[1].to_string(),
                   "; every task needs an address of its own");
  }
  if (found.front() == own_task) {
    return invalid(
        "the provided cluster_def calls the master ", own_task.to_string(),
        ", using the job and task index to be the same names that were provided when the "
        "server booted; choose another job name for a cluster that is sent along");
  }
  return found.front();
}

}  // namespace

Result<DeviceFilters> DeviceFilters::parse(std::span<const std::string> filters) {
  DeviceFilters made;
  for (const std::string& text : filters) {
    auto name = DeviceName::parse(text);
    if (!name.ok()) {
      return invalid("device filter '", text, "': ", name.status().message(),
                     "; write filters like '/job:ps' or '/job:worker/task:3'");
    }
    made.filters_.push_back(std::move(name).value());
  }
  return made;
}

bool DeviceFilters::allow(const TaskName& task) const { return allow(as_device(task)); }

bool DeviceFilters::allow(const DeviceName& device) const {
  return filters_.empty() || std::any_of(filters_.begin(), filters_.end(), [&](const auto& filter) {
           return filter.is_compatible_with(device);
         });
}

Result<Membership> resolve_membership(const std::vector<Member>& own, const TaskName& own_task,
                                      const SessionOptions& options, std::string_view target) {
  Membership made;
  MR_ASSIGN(made.filters, DeviceFilters::parse(options.device_filters));
  made.is_sent = !options.cluster.empty();
  made.self = own_task;
  std::vector<Member> all = own;
  if (made.is_sent) {
    made.cluster = options.cluster;
    MR_ASSIGN(made.self, find_self(made.cluster, own_task, target));
    all = constant_members(made.cluster)->list();
  }
  for (Member& member : all)
    if (member.task == made.self || made.filters.allow(member.task))
      made.members.push_back(std::move(member));
  return made;
}

Status explain_absence(const Status& error, const Membership& membership,
                       std::span<const TaskName> present) {
  if (error.ok() || present.size() == membership.members.size()) return error;
  for (const Member& member : membership.members) {
    const std::string name = member.task.to_string();
    if (std::find(present.begin(), present.end(), member.task) != present.end()) continue;
    const std::string as_written = str_cat("/job:", member.task.job, "/task:", member.task.task);
    if (error.message().find(name) == std::string::npos &&
        error.message().find(as_written) == std::string::npos)
      continue;
    return error.then(str_cat(" (", name,
                              " had ended when this session began, so it takes no part; ",
                              "start it again and make a new session)"));
  }
  return error;
}

SessionOptions merge_options(const SessionOptions& defaults, SessionOptions asked) {
  asked.device_filters.insert(asked.device_filters.begin(), defaults.device_filters.begin(),
                              defaults.device_filters.end());
  asked.allow_soft_placement |= defaults.allow_soft_placement;
  asked.log_device_placement |= defaults.log_device_placement;
  asked.isolate_session_state |= defaults.isolate_session_state;
  asked.disable_optimizer |= defaults.disable_optimizer;
  if (defaults.operation_timeout.count() > 0) asked.operation_timeout = defaults.operation_timeout;
  return asked;
}

Status check_options(const SessionOptions& options) {
  if (options.use_per_session_threads) {
    return invalid(
        "Distributed session does not support use_per_session_threads: the threads "
        "belong to the server");
  }
  if (options.names_thread_pools) {
    return invalid(
        "Distributed session does not support session thread pool options "
        "(session_inter_op_thread_pool): the threads belong to the server");
  }
  if (options.operation_timeout.count() < 0) {
    return invalid("operation_timeout_in_ms is ", options.operation_timeout.count(),
                   "; it must be 0 (none) or more");
  }
  return {};
}

Status check_identity(const Member& expected, std::span<const DeviceAttributes> devices) {
  std::set<std::string> found;
  for (const DeviceAttributes& device : devices) {
    auto name = DeviceName::parse(device.name);
    if (!name.ok() || !name->is_full()) {
      return failed_precondition("the task at ", expected.address, " (", expected.task.to_string(),
                                 ") reports a device called '", device.name,
                                 "', which is no full device name");
    }
    if (name->task_name() != expected.task) found.insert(name->task_name().to_string());
  }
  if (devices.empty()) {
    return failed_precondition("the task at ", expected.address, " (", expected.task.to_string(),
                               ") reports no devices, so nothing can run there");
  }
  if (found.empty()) return {};
  return failed_precondition(
      "expected ", expected.task.to_string(), " at ", expected.address, ", but ", *found.begin(),
      " answers there: the cluster of this server "
      "and that of the other one do not agree, or two programs share a port");
}

Result<std::vector<DeviceAttributes>> renamed(std::vector<DeviceAttributes> devices,
                                              const TaskName& task) {
  for (DeviceAttributes& device : devices) {
    MR_ASSIGN(DeviceName name, DeviceName::parse(device.name));
    name.job = task.job;
    name.replica = task.replica;
    name.task = task.task;
    device.name = name.to_string();
  }
  return devices;
}

}  // namespace millrace
