#include "millrace/session/targets.h"

#include <utility>

#include "millrace/session/local_task.h"
#include "millrace/session/server.h"
#include "millrace/transport/grpc/master_channel.h"

namespace millrace {

namespace {

// A channel and the threads that it needs, in the order in which they may go.
struct ChannelOnRuntime {
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<GrpcMasterChannel> channel;
};

}  // namespace

Result<Dialled> dial(const SessionTarget& target, std::shared_ptr<Runtime> runtime) {
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
    MR_ASSIGN(std::shared_ptr<LocalTask> task, LocalTask::alone(dialled.runtime));
    Master& master = task->master();
    dialled.master = std::shared_ptr<MasterService>(std::move(task), &master);
    return dialled;
  }
  MR_ASSIGN(auto channel, GrpcMasterChannel::create(target.text(), dialled.runtime->grpc_threads(),
                                                    dialled.runtime->patience()));
  GrpcMasterChannel& master = *channel;
  dialled.master = std::shared_ptr<MasterService>(
      std::make_shared<ChannelOnRuntime>(ChannelOnRuntime{dialled.runtime, std::move(channel)}),
      &master);
  return dialled;
}

}  // namespace millrace
