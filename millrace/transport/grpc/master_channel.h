// GrpcMasterChannel: the master of a task elsewhere, for a client.
//
// Connects with the first call. create_session and reset wait until the task is there; a deadline
// or a cancellation ends them earlier. Calls about a session fail at once if it is gone
// (TensorFlow's clients wait for ever for a session that can't come back). With Call::waiting the
// call is made on the caller's own thread and is answered before it returns. A step is never
// repeated. A master that falls silent while it owes an answer is given up (transport.h).
//
// Any thread may call. Calls that run when the channel goes are finished and answered.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/base/host.h"
#include "millrace/cluster/services.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/transport.h"

namespace millrace {

class GrpcMasterChannel final : public MasterService {
 public:
  // `target` is "grpc://host:port". `host` outlives the calls. Errors: INVALID_ARGUMENT for another
  // form.
  static Result<std::unique_ptr<GrpcMasterChannel>> create(std::string_view target,
                                                           const GrpcThreads& threads,
                                                           const Host& host,
                                                           PeerPatience patience = {});
  ~GrpcMasterChannel() override;

  void create_session(CreateSessionRequest, Call, Done<CreateSessionReply>) override;
  void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) override;
  void run_step(RunStepRequest, Call, Done<RunStepReply>) override;
  void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) override;
  void close_session(CloseSessionRequest, Call, Done<void>) override;
  void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) override;
  void reset(ResetRequest, Call, Done<void>) override;
  void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) override;
  void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) override;
  void release_callable(ReleaseCallableRequest, Call, Done<void>) override;
  void describe(Call, Done<TaskDescription>) override;

 private:
  class Connection;
  explicit GrpcMasterChannel(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace millrace
