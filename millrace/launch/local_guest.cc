#include "millrace/launch/local_guest.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/local_descendants.h"

namespace millrace {
namespace {

using Environment = std::vector<EnvironmentEntry>;

// As its program was started; PERMISSION_DENIED, or NOT_FOUND for one that is gone.
Result<Environment> environment_of_process(pid_t process) {
  std::ifstream file(str_cat("/proc/", process, "/environ"), std::ios::binary);
  if (!file.is_open() && errno == EACCES)
    return error(Code::permission_denied, "process ", process, " is somebody else's");
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) return not_found("process ", process, " is gone");
  Environment environment;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\0', begin), bytes.size());
    const std::string entry = bytes.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = entry.find('=');
    if (equals != std::string::npos)
      environment.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

std::string value_in(const Environment& environment, std::string_view name) {
  const auto found = std::ranges::find(environment, name, &EnvironmentEntry::first);
  return found == environment.end() ? "" : found->second;
}

bool is_of(const Environment& environment, const std::string& task, int attempt) {
  const std::string written = value_in(environment, kTaskVariable);
  if (written.empty()) return false;
  const Result<TfConfig> config = TfConfig::parse(written);
  if (!config.ok() || str_cat(config->task_type, ":", config->task_index.value_or(0)) != task)
    return false;
  const std::string life = value_in(environment, kAttemptVariable);
  return life.empty() || life == std::to_string(attempt);
}

bool is_handed_over(const EnvironmentEntry& entry) {
  return std::ranges::find(kSocketHandedOver, entry.first) != kSocketHandedOver.end() ||
         std::ranges::find(kReportHandedOver, entry.first) != kReportHandedOver.end();
}

Result<GuestCommand> guest_among(const std::vector<pid_t>& processes, const std::string& task,
                                 int attempt, const std::vector<std::string>& command) {
  std::optional<Status> refused;
  for (const pid_t process : processes) {
    Result<Environment> environment = environment_of_process(process);
    if (environment.status().code() == Code::permission_denied) refused = environment.status();
    if (!environment.ok() || !is_of(*environment, task, attempt)) continue;
    std::erase_if(*environment, is_handed_over);
    std::error_code fault;
    const auto directory = std::filesystem::read_symlink(str_cat("/proc/", process, "/cwd"), fault);
    if (fault) continue;  // it has just gone
    return GuestCommand{
        .words = command, .directory = directory.string(), .environment = *std::move(environment)};
  }
  if (refused) return *refused;
  return failed_precondition("no process of this machine is ", task, " any more");
}

}  // namespace

Result<GuestCommand> guest_beside(pid_t launcher, const std::string& task, int attempt,
                                  const std::vector<std::string>& command) {
  return guest_among(descendants_of(launcher), task, attempt, command);
}

Result<GuestCommand> guest_at(pid_t process, const std::string& task, int attempt,
                              const std::vector<std::string>& command) {
  std::vector<pid_t> processes = descendants_of(process);
  processes.insert(processes.begin(), process);
  return guest_among(processes, task, attempt, command);
}

}  // namespace millrace
