#include "millrace/python/served_task.h"

#include <cstdlib>
#include <utility>

#include <pybind11/pybind11.h>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/inherited_socket.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Where to bind: what a launcher has bound, and this machine alone if the cluster is on it.
Status choose_socket(ServerOptions& options) {
  MR_ASSIGN(const std::string address, options.cluster.address({options.job, 0, options.task}));
  MR_ASSIGN(const HostPort own, HostPort::parse(address));
  if (is_loopback(own.host)) options.bind_host = own.host;
  MR_ASSIGN(options.listen_fd, inherited_socket(std::getenv(kListenDescriptorVariable),
                                                std::getenv(kListenAddressVariable), address));
  return {};
}

}  // namespace

ServedTask::~ServedTask() {
  py::gil_scoped_release release;
  server_.reset();
}

void ServedTask::start() {
  if (server_ != nullptr) return;
  check(choose_socket(options_));
  if (options_.listen_fd) {
    // It is for this server: not for another one, and not for programs that this one starts.
    unsetenv(kListenDescriptorVariable);
    unsetenv(kListenAddressVariable);
  }
  Result<std::unique_ptr<Server>> started = [&] {
    py::gil_scoped_release release;
    return Server::start(options_, library_->runtime);
  }();
  server_ = check(std::move(started));
}

Server& ServedTask::server() const {
  if (server_ == nullptr) throw py::value_error("the server has not been started");
  return *server_;
}

std::string ServedTask::target() const { return server().target(); }

bool ServedTask::wait(double seconds) {
  Server& running = server();
  py::gil_scoped_release release;
  return running.join(Clock::real().now() + std::chrono::duration_cast<Clock::Duration>(
                                                std::chrono::duration<double>(seconds)));
}

void ServedTask::stop() {
  if (server_ == nullptr) return;
  Status status;
  {
    py::gil_scoped_release release;
    status = server_->stop();
  }
  check(status);
}

}  // namespace millrace::python
