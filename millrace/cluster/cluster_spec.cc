#include "millrace/cluster/cluster_spec.h"

#include <algorithm>

#include "millrace/cluster/host_port.h"

namespace millrace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

std::vector<std::string> split_replicas(std::string_view entry) {
  std::vector<std::string> addresses;
  size_t begin = 0;
  for (size_t comma; (comma = entry.find(',', begin)) != std::string_view::npos; begin = comma + 1)
    addresses.emplace_back(entry.substr(begin, comma - begin));
  addresses.emplace_back(entry.substr(begin));
  return addresses;
}

Status check_job_name(std::string_view job) {
  if (is_job_name(job)) return {};
  return invalid("'", job.substr(0, 80),
                 "' is not a job name; a letter, then letters, digits and underscores are allowed");
}

Status check_entry(std::string_view entry) {
  for (const std::string& address : split_replicas(entry)) MR_TRY(HostPort::parse(address));
  return {};
}

std::string job_names(const ClusterSpec::Jobs& jobs) {
  std::string text;
  for (const auto& [job, tasks] : jobs) str_append(&text, text.empty() ? "" : ", ", job);
  return text.empty() ? "none" : text;
}

std::string task_label(const TaskName& task) {
  std::string label = str_cat(task.job, ":", task.task);
  if (task.replica != 0) str_append(&label, " (replica ", task.replica, ")");
  return label;
}

}  // namespace

bool is_job_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

Status ClusterSpec::add_task(std::string_view job, int task, std::string_view address) {
  MR_TRY(check_job_name(job));
  if (task < 0) return invalid("task index ", task, " of job '", job, "'; indices start at 0");
  MR_TRY(check_entry(address).with(str_cat("task ", job, ":", task)));
  auto [entry, added] = jobs_[std::string(job)].try_emplace(task, address);
  if (added) return {};
  return error(Code::already_exists, "task ", job, ":", task, " is given two addresses: '",
               entry->second, "' and '", address, "'");
}

Status ClusterSpec::add_job(std::string_view job, const std::vector<std::string>& addresses) {
  MR_TRY(check_job_name(job));
  if (has_job(job)) return error(Code::already_exists, "job '", job, "' is given twice");
  Tasks tasks;
  for (const std::string& address : addresses) {
    int task = static_cast<int>(tasks.size());
    MR_TRY(check_entry(address).with(str_cat("task ", job, ":", task)));
    tasks.emplace(task, address);
  }
  jobs_.emplace(job, std::move(tasks));
  return {};
}

Status ClusterSpec::move_task(const TaskName& task, std::string_view address) {
  MR_TRY(this->address(task));
  MR_TRY(HostPort::parse(address).with(str_cat("task ", task_label(task))));
  std::string& entry = jobs_.find(task.job)->second.find(task.task)->second;
  std::vector<std::string> replicas = split_replicas(entry);
  replicas[static_cast<size_t>(task.replica)] = std::string(address);
  entry = replicas[0];
  for (size_t i = 1; i < replicas.size(); ++i) str_append(&entry, ",", replicas[i]);
  return {};
}

int ClusterSpec::num_tasks() const {
  size_t count = 0;
  for (const auto& [job, tasks] : jobs_) count += tasks.size();
  return static_cast<int>(count);
}

int ClusterSpec::num_tasks(std::string_view job) const {
  auto it = jobs_.find(job);
  return it == jobs_.end() ? 0 : static_cast<int>(it->second.size());
}

bool ClusterSpec::has_task(std::string_view job, int task) const {
  auto it = jobs_.find(job);
  return it != jobs_.end() && it->second.contains(task);
}

std::string ClusterSpec::task_indices(std::string_view job) const {
  auto tasks = jobs_.find(job);
  if (tasks == jobs_.end() || tasks->second.empty()) return "none";
  std::string text;
  for (auto it = tasks->second.begin(); it != tasks->second.end();) {
    int first = it->first;
    int last = first;
    while (++it != tasks->second.end() && it->first == last + 1) ++last;
    str_append(&text, text.empty() ? "" : ", ", first);
    if (last != first) str_append(&text, "-", last);
  }
  return text;
}

Result<std::string> ClusterSpec::address(const TaskName& task) const {
  auto job = jobs_.find(task.job);
  if (job == jobs_.end())
    return not_found("no job '", task.job, "' in the cluster: its jobs are ", job_names(jobs_));
  auto entry = job->second.find(task.task);
  if (entry == job->second.end())
    return not_found("no task ", task_label(task), "; tasks of job '", task.job,
                     "': ", task_indices(task.job));
  std::vector<std::string> replicas = split_replicas(entry->second);
  if (task.replica < 0 || static_cast<size_t>(task.replica) >= replicas.size())
    return not_found("no task ", task_label(task), ": it has ", replicas.size(), " replica(s), '",
                     entry->second, "'");
  return replicas[static_cast<size_t>(task.replica)];
}

std::vector<TaskName> ClusterSpec::tasks() const {
  std::vector<TaskName> names;
  for (const auto& [job, tasks] : jobs_)
    for (const auto& [index, entry] : tasks) {
      auto replicas = static_cast<int>(split_replicas(entry).size());
      for (int replica = 0; replica < replicas; ++replica) names.push_back({job, replica, index});
    }
  return names;
}

std::vector<std::string> ClusterSpec::shared_addresses() const {
  std::map<std::string, TaskName> first;
  std::vector<std::string> lines;
  for (const TaskName& task : tasks()) {
    std::string address = this->address(task).value();
    if (address.ends_with(":0")) continue;
    auto [other, added] = first.try_emplace(address, task);
    if (!added)
      lines.push_back(
          str_cat(task_label(other->second), " and ", task_label(task), " are both at ", address));
  }
  return lines;
}

std::string ClusterSpec::to_string() const {
  std::string text = "{";
  for (const auto& [job, tasks] : jobs_) {
    str_append(&text, text.size() > 1 ? ", " : "", job, " -> {");
    const char* separator = "";
    for (const auto& [index, entry] : tasks) {
      str_append(&text, separator, index, " -> ", entry);
      separator = ", ";
    }
    text += "}";
  }
  return text + "}";
}

}  // namespace millrace
