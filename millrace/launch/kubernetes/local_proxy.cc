#include "millrace/launch/kubernetes/local_proxy.h"

#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/faults.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

constexpr std::string_view kFolder = "/millrace-XXXXXX";
constexpr std::string_view kSocket = "/api";
constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kNotThere = 127;

// Where temporary files belong, if a socket's path may be so long.
Result<std::string> make_folder() {
  std::error_code none;
  for (const std::string& base :
       {std::filesystem::temp_directory_path(none).string(), std::string("/tmp")}) {
    std::string folder = str_cat(base, kFolder);
    if (folder.size() + kSocket.size() > kLongestPath) continue;
    if (mkdtemp(folder.data()) != nullptr) return folder;
  }
  return unavailable("no folder for the way to the cluster can be made in /tmp: ",
                     std::strerror(errno));
}

}  // namespace

LocalProxy::LocalProxy(std::string folder, RunningCommand command)
    : folder_(std::move(folder)),
      socket_(str_cat(folder_, kSocket)),
      command_(std::move(command)) {}

LocalProxy::~LocalProxy() {
  command_.reset();
  unlink(socket_.c_str());
  rmdir(folder_.c_str());
}

Result<std::unique_ptr<LocalProxy>> LocalProxy::start(std::vector<std::string> kubectl) {
  MR_ASSIGN(std::string folder, make_folder());
  kubectl.insert(kubectl.end(), {"proxy", str_cat("--unix-socket=", folder, kSocket)});
  Result<RunningCommand> command = RunningCommand::start(kubectl, RunningCommand::Errors::heard);
  if (!command.ok()) {
    rmdir(folder.c_str());
    return command.status();
  }
  return std::unique_ptr<LocalProxy>(new LocalProxy(std::move(folder), std::move(*command)));
}

bool LocalProxy::lives() {
  if (command_->descriptor() < 0) return false;
  return command_->read([this](std::string_view line) {
    if (listens_) return;
    listens_ = line.find("Starting to serve on") != line.npos;
    if (!listens_) str_append(&said_, line, "\n");
  });
}

Status LocalProxy::await(Clock::Duration time_limit, const Clock& clock) {
  for (const Clock::Time deadline = clock.now() + time_limit; !listens_;) {
    pollfd end{.fd = command_->descriptor(), .events = POLLIN, .revents = 0};
    const int ready = poll(&end, 1, poll_milliseconds(deadline, clock.now()));
    if (ready == 0)
      return error(Code::deadline_exceeded, "kubectl proxy does not begin to listen (it said: ",
                   said_.empty() ? "nothing" : said_,
                   "); see what it does by hand: kubectl proxy --port=0");
    if (ready < 0 || lives() || listens_) continue;
    if (command_->wait() == kNotThere && said_.empty())
      return failed_precondition(
          "no program 'kubectl' on the PATH; jobs go to Kubernetes by kubectl: install it");
    return kubectl_fault(said_);
  }
  return {};
}

}  // namespace millrace
