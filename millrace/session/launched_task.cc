#include "millrace/session/launched_task.h"

#include <utility>

#include "millrace/base/stderr_log.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/host_port.h"
#include "millrace/cluster/inherited_socket.h"
#include "millrace/cluster/task_identity.h"

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

std::shared_ptr<TaskReport> take_report(const Environment& environment) {
  auto report =
      TaskReport::open(environment(kReportDescriptorVariable), environment(kReportFileVariable));
  if (report.ok()) return std::move(*report);
  // Before there is a runtime that would have a log.
  StderrLog sink(environment(kLogVariable));
  Log(sink).warning(report.status().message());
  return nullptr;
}

Result<ServerOptions> launched_task(const Environment& environment) {
  Result<TaskIdentity> identity = identify_task({.tf_config = environment(kTaskVariable)});
  if (!identity.ok())
    return identity.status().then("; or start this program with `millrace run`, which tells it");
  ServerOptions options;
  options.report = take_report(environment);
  options.cluster = std::move(identity->cluster);
  options.job = std::move(identity->task.job);
  options.task = identity->task.task;
  MR_TRY(choose_socket(options, environment));
  return options;
}

}  // namespace millrace
