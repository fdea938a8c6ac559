// RemoteMaster: the master of a task elsewhere, for a client, by whatever calls it.
//
// create_session and reset wait until the task is there; a deadline or a cancellation ends them
// earlier. Calls about a session fail at once if it is gone (TensorFlow's clients wait for ever for
// a session that can't come back). A step is never repeated. Thread-safe.
#pragma once

#include <memory>

#include "millrace/cluster/services.h"
#include "millrace/transport/protocol/remote.h"

namespace millrace::transport {

class RemoteMaster : public MasterService {
 public:
  RemoteMaster(const std::string& address, std::shared_ptr<Caller> caller);

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
  const Remote remote_;
};

}  // namespace millrace::transport
