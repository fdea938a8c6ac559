#include "millrace/launch/ssh.h"

#include <algorithm>
#include <initializer_list>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int kFailureOfSsh = 255;
constexpr const char* kNoHost = " \t\n\v\f\r\"'`$\\;&|<>()";

// Without a question, which nobody is there to answer; a machine that is silent for 15 seconds is
// lost.
const std::vector<std::string>& ssh_words() {
  static const std::vector<std::string> words = {"ssh", "-T",
                                                 "-o",  "BatchMode=yes",
                                                 "-o",  "ConnectTimeout=15",
                                                 "-o",  "ServerAliveInterval=5",
                                                 "-o",  "ServerAliveCountMax=3",
                                                 "-o",  "ControlMaster=no",
                                                 "-o",  "ControlPath=none"};
  return words;
}

// One line for the shell there.
std::string remote_line(const JobSpec& job, const std::vector<std::string>& command,
                        const std::string& folder) {
  std::string line;
  if (!job.directory.empty()) str_append(&line, "cd ", shell_quoted(job.directory), " && ");
  line += "exec";
  // So that it finds itself, too.
  if (!folder.empty()) str_append(&line, " env ", shell_quoted("PATH=" + folder), ":\"$PATH\"");
  for (const std::string& word : command) str_append(&line, " ", shell_quoted(word));
  return line;
}

bool has_mark(std::string_view line, std::initializer_list<std::string_view> marks) {
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return line.find(mark) != std::string_view::npos; });
}

}  // namespace

Status check_host(const std::string& host) {
  if (host.empty() || host.starts_with("-") || host.find_first_of(kNoHost) != std::string::npos)
    return invalid("--hosts: '", host, "' is no machine");
  return {};
}

std::vector<std::string> ssh_command(const std::string& host,
                                     const std::vector<std::string>& command) {
  std::vector<std::string> words = ssh_words();
  words.insert(words.end(), {"--", host, remote_line({}, command, "")});
  return words;
}

Result<Reach> ssh_reach(const JobSpec& job, std::vector<std::string> hosts,
                        const std::string& known_as, std::map<std::string, std::string> folders) {
  if (hosts.empty()) return invalid("--on ssh: say which machines: --hosts n1,n2,n3");
  for (const std::string& host : hosts) MR_TRY(check_host(host));
  return Reach{.name = "ssh",
               .listen_host = "0.0.0.0",
               .known_as = known_as,
               .command_at =
                   [&job, hosts = std::move(hosts), folders = std::move(folders)](
                       const RoleSpec&, size_t number, const std::vector<std::string>& command) {
                     const std::string& host = hosts[number % hosts.size()];
                     const auto folder = folders.find(host);
                     std::vector<std::string> words = ssh_words();
                     words.insert(words.end(),
                                  {"--", host,
                                   remote_line(job, command,
                                               folder == folders.end() ? "" : folder->second)});
                     return words;
                   },
               .hear = hear_ssh,
               .own_failure = kFailureOfSsh,
               .comes_back = true,
               .has_leash = true};
}

bool hear_ssh(std::string_view line, ExitFacts& facts) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const bool is_no_begin = line.starts_with("ssh: ") || line == "Host key verification failed." ||
                           line.starts_with("kex_exchange_identification: ") ||
                           has_mark(line, {": Permission denied (", "Too many authentication"});
  const bool is_loss =
      (line.starts_with("Timeout, server ") && has_mark(line, {" not responding"})) ||
      line.starts_with("client_loop: ") ||
      (line.starts_with("Connection to ") && has_mark(line, {" closed by remote host"})) ||
      ((line.starts_with("Connection closed by ") || line.starts_with("Connection reset by ") ||
        line.starts_with("Read from remote host ")));
  // The first thing that is said is the cause of the others.
  if (!facts.start_error.empty() || !facts.taken_away.empty()) return is_no_begin || is_loss;
  if (is_no_begin) facts.start_error = line;
  if (is_loss) facts.taken_away = str_cat("its machine is lost: ", line);
  return is_no_begin || is_loss;
}

}  // namespace millrace
