#include "millrace/transport/protocol/remote_master.h"

#include <utility>

#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {

RemoteMaster::RemoteMaster(const std::string& address, std::shared_ptr<Caller> caller)
    : remote_({"the master", address}, std::move(caller)) {}

void RemoteMaster::create_session(CreateSessionRequest request, Call call,
                                  Done<CreateSessionReply> done) {
  remote_.ask(master_method::kCreateSession, WhenDown::wait, encode(request), call,
              std::move(done));
}
void RemoteMaster::extend_session(ExtendSessionRequest request, Call call,
                                  Done<ExtendSessionReply> done) {
  remote_.ask(master_method::kExtendSession, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteMaster::partial_run_setup(PartialRunSetupRequest request, Call call,
                                     Done<PartialRunSetupReply> done) {
  remote_.ask(master_method::kPartialRunSetup, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteMaster::close_session(CloseSessionRequest request, Call call, Done<void> done) {
  remote_.ask(master_method::kCloseSession, WhenDown::fail, encode(request), call, std::move(done));
}
void RemoteMaster::list_devices(ListDevicesRequest request, Call call,
                                Done<ListDevicesReply> done) {
  remote_.ask(master_method::kListDevices, WhenDown::fail, encode(request), call, std::move(done));
}
void RemoteMaster::reset(ResetRequest request, Call call, Done<void> done) {
  remote_.ask(master_method::kReset, WhenDown::wait, encode(request), call, std::move(done));
}
void RemoteMaster::make_callable(MakeCallableRequest request, Call call,
                                 Done<MakeCallableReply> done) {
  remote_.ask(master_method::kMakeCallable, WhenDown::fail, encode(request), call, std::move(done));
}
void RemoteMaster::run_callable(RunCallableRequest request, Call call,
                                Done<RunCallableReply> done) {
  remote_.ask(master_method::kRunCallable, WhenDown::fail, encode(request), call, std::move(done));
}
void RemoteMaster::release_callable(ReleaseCallableRequest request, Call call, Done<void> done) {
  remote_.ask(master_method::kReleaseCallable, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteMaster::describe(Call call, Done<TaskDescription> done) {
  remote_.ask(task_method::kDescribe, WhenDown::fail, wire::Pieces(), call, std::move(done));
}

void RemoteMaster::run_step(RunStepRequest request, Call call, Done<RunStepReply> done) {
  Result<wire::Pieces> message = encode(request);
  auto read = [peer = remote_.peer(),
               fetches = std::move(request.fetches)](const Chunks& bytes) -> Result<RunStepReply> {
    AnsweredRunStep answer;
    if (Status status = decode(bytes, fetches, answer); !status.ok())
      return explain_bad_answer(*peer, master_method::kRunStep, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  remote_.ask(master_method::kRunStep, WhenDown::fail, std::move(message), call, std::move(read),
              std::move(done));
}

}  // namespace millrace::transport
