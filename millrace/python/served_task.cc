#include "millrace/python/served_task.h"

#include <cstdlib>
#include <utility>

#include <pybind11/pybind11.h>

#include "millrace/base/log.h"
#include "millrace/cluster/environment.h"
#include "millrace/python/status_binding.h"
#include "millrace/python/unlocked.h"
#include "millrace/session/launched_task.h"

namespace py = pybind11;

namespace millrace::python {

ServedTask::~ServedTask() {
  const Unlocked others_run;
  server_.reset();
}

void ServedTask::start() {
  if (server_ != nullptr) return;
  check(choose_socket(options_, [](const char* name) { return std::getenv(name); }));
  if (options_.listen_fd) {
    // It is for this server: not for another one, and not for programs that this one starts.
    for (const char* name : kSocketHandedOver) unsetenv(name);
  }
  Result<std::unique_ptr<Server>> started = [&] {
    const Unlocked others_run;
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
  bool is_over = false;
  {
    const Unlocked others_run;
    is_over = running.join(
        running.runtime()->host().clock.now() +
        std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds)));
  }
  if (is_over) check(running.failure());
  return is_over;
}

void ServedTask::log_waits() const {
  server().runtime()->host().log.info(to_text(server().describe()));
}

void ServedTask::end() {
  if (server_ == nullptr) return;
  const Unlocked others_run;
  server_->end({});
}

void ServedTask::stop() {
  if (server_ == nullptr) return;
  Status status;
  {
    const Unlocked others_run;
    status = server_->stop();
  }
  check(status);
}

}  // namespace millrace::python
