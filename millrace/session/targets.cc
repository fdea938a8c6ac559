#include "millrace/session/targets.h"

#include <utility>

#include "millrace/session/local_task.h"
#include "millrace/session/server.h"
#include "millrace/transport/all.h"

namespace millrace {

namespace {

// A way to a master and the runtime that it needs, in the order in which they may go.
struct MasterOnRuntime {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<MasterService> master;
};

}  // namespace

Result<Dialled> dial(const SessionTarget& target, std::shared_ptr<Runtime> runtime,
                     int cpu_devices) {
  Dialled dialled;
  if (Server* server = target.server()) {
    dialled.runtime = server->runtime();
    dialled.master = server->master();
    dialled.target = server->target();
    return dialled;
  }
  dialled.runtime = runtime ? std::move(runtime) : Runtime::create();
  dialled.target = target.text();
  if (is_this_process(target.text())) {
    MR_ASSIGN(std::shared_ptr<LocalTask> task, LocalTask::alone(dialled.runtime, cpu_devices));
    MasterService& master = task->master();
    dialled.master = std::shared_ptr<MasterService>(std::move(task), &master);
    return dialled;
  }
  MR_ASSIGN(Transport * transport, dialled.runtime->transports().of(target.text()));
  MR_ASSIGN(auto found, transport->dial(target.text(), dialled.runtime->patience()));
  MasterService& master = *found;
  dialled.master = std::shared_ptr<MasterService>(
      std::make_shared<MasterOnRuntime>(MasterOnRuntime{dialled.runtime, std::move(found)}),
      &master);
  return dialled;
}

}  // namespace millrace
