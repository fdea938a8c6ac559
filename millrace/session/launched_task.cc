#include "millrace/session/launched_task.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/inherited_socket.h"
#include "millrace/cluster/run_config.h"

namespace millrace {

namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

Status choose_socket(ServerOptions& options, const Environment& environment) {
  MR_ASSIGN(const std::string address, options.cluster.address({options.job, 0, options.task}));
  MR_ASSIGN(const HostPort own, HostPort::parse(address));
  if (options.bind_host.empty() && is_loopback(own.host)) options.bind_host = own.host;
  if (options.listen_fd) return {};
  MR_ASSIGN(options.listen_fd, inherited_socket(environment(kListenDescriptorVariable),
                                                environment(kListenAddressVariable), address));
  return {};
}

Result<ServerOptions> launched_task(const Environment& environment) {
  MR_ASSIGN(const TfConfig told, TfConfig::from_environment(environment("TF_CONFIG")));
  MR_ASSIGN(RunConfig config, RunConfig::create(told));
  if (config.task_type.empty()) {
    return invalid(
        "TF_CONFIG does not say which task this process is; start it with `millrace run`, "
        "or set TF_CONFIG to a cluster and a task");
  }
  ServerOptions options;
  options.cluster = std::move(config.cluster);
  options.job = std::move(config.task_type);
  options.task = config.task_index;
  MR_TRY(choose_socket(options, environment));
  return options;
}

}  // namespace millrace
