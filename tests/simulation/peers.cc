#include "tests/simulation/peers.h"

#include <utility>

#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::simulation {
namespace {

namespace master_method = transport::master_method;
namespace worker_method = transport::worker_method;
using transport::Chunks;
using transport::decode;
using transport::encode;
using PeerPtr = std::shared_ptr<const transport::Peer>;

// Sends `message` and makes the outcome of the bytes that come back.
template <class Reply, class Read>
void ask(Channel& channel, const PeerPtr& peer, std::string_view method, WhenDown when_down,
         Result<wire::Pieces> message, const Call& call, Read read, Done<Reply> done) {
  if (!message.ok()) return done(std::move(message).status());
  auto finish = [read = std::move(read),
                 done = std::move(done)](Result<Channel::Messages> answer) mutable {
    if (!answer.ok()) return done(std::move(answer).status());
    done(read(*answer));
  };
  channel.start({.peer = peer,
                 .method = method,
                 .message = message->join(),
                 .when_down = when_down,
                 .cancellation = call.cancellation,
                 .deadline = call.deadline},
                Done<Channel::Messages>(std::move(finish)));
}

// As above for a reply that decode() reads, or that says nothing.
template <class Reply>
void ask(Channel& channel, const PeerPtr& peer, std::string_view method, WhenDown when_down,
         Result<wire::Pieces> message, const Call& call, Done<Reply> done) {
  auto read = [peer, method](const Channel::Messages& answer) -> Outcome<Reply> {
    if constexpr (std::is_void_v<Reply>) {
      return Status();
    } else {
      Reply reply;
      const Status status = decode(Chunks(answer.at(0)), reply);
      if (!status.ok()) return explain_bad_answer(*peer, method, status);
      return reply;
    }
  };
  ask<Reply>(channel, peer, method, when_down, std::move(message), call, std::move(read),
             std::move(done));
}

WhenDown of_master(std::string_view method) {
  return method == master_method::kCreateSession || method == master_method::kReset
             ? WhenDown::wait
             : WhenDown::fail;
}

}  // namespace

// ---- RemoteWorker -------------------------------------------------------------------------------

void RemoteWorker::get_status(WhenDown when_down, Call call, Done<GetStatusReply> done) {
  ask(*channel_, peer_, worker_method::kGetStatus, when_down, wire::Pieces(), call,
      std::move(done));
}
void RemoteWorker::create_worker_session(CreateWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  ask(*channel_, peer_, worker_method::kCreateWorkerSession, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteWorker::delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  ask(*channel_, peer_, worker_method::kDeleteWorkerSession, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteWorker::register_graph(RegisterGraphRequest request, Call call,
                                  Done<RegisterGraphReply> done) {
  ask(*channel_, peer_, worker_method::kRegisterGraph, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteWorker::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, worker_method::kDeregisterGraph, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteWorker::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, worker_method::kCleanupGraph, WhenDown::wait, encode(request), call,
      std::move(done));
}
void RemoteWorker::cleanup_all(CleanupAllRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, worker_method::kCleanupAll, WhenDown::wait, encode(request), call,
      std::move(done));
}
void RemoteWorker::farewell(EndedTask ended, Call call, Done<void> done) {
  ask(*channel_, peer_, transport::task_method::kFarewell, WhenDown::fail, encode(ended), call,
      std::move(done));
}

void RemoteWorker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  Result<wire::Pieces> message = encode(request);
  auto read = [peer = peer_,
               keys = request.keys](const Channel::Messages& bytes) -> Result<RunGraphReply> {
    static const StepKeys kNone;
    transport::AnsweredRunGraph answer;
    const Status status = decode(Chunks(bytes.at(0)), keys != nullptr ? *keys : kNone, answer);
    if (!status.ok()) return explain_bad_answer(*peer, worker_method::kRunGraph, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  ask<RunGraphReply>(*channel_, peer_, worker_method::kRunGraph, WhenDown::fail, std::move(message),
                     call, std::move(read), std::move(done));
}

void RemoteWorker::recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  auto read = [peer = peer_](const Channel::Messages& messages) -> Result<RecvTensorReply> {
    transport::TensorReceiver receiver;
    for (const std::string& message : messages) {
      auto more = receiver.add(Chunks(message));
      if (!more.ok()) return explain_bad_answer(*peer, worker_method::kRecvTensor, more.status());
    }
    return receiver.take();
  };
  // Never with a deadline of ours.
  ask<RecvTensorReply>(*channel_, peer_, worker_method::kRecvTensor, WhenDown::fail,
                       encode(request, transport::Parts::taken),
                       {.cancellation = call.cancellation}, std::move(read), std::move(done));
}

// ---- RemoteMaster -------------------------------------------------------------------------------

void RemoteMaster::create_session(CreateSessionRequest request, Call call,
                                  Done<CreateSessionReply> done) {
  ask(*channel_, peer_, master_method::kCreateSession, of_master(master_method::kCreateSession),
      encode(request), call, std::move(done));
}
void RemoteMaster::extend_session(ExtendSessionRequest request, Call call,
                                  Done<ExtendSessionReply> done) {
  ask(*channel_, peer_, master_method::kExtendSession, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::partial_run_setup(PartialRunSetupRequest request, Call call,
                                     Done<PartialRunSetupReply> done) {
  ask(*channel_, peer_, master_method::kPartialRunSetup, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::close_session(CloseSessionRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, master_method::kCloseSession, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::list_devices(ListDevicesRequest request, Call call,
                                Done<ListDevicesReply> done) {
  ask(*channel_, peer_, master_method::kListDevices, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::reset(ResetRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, master_method::kReset, of_master(master_method::kReset), encode(request),
      call, std::move(done));
}
void RemoteMaster::make_callable(MakeCallableRequest request, Call call,
                                 Done<MakeCallableReply> done) {
  ask(*channel_, peer_, master_method::kMakeCallable, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::run_callable(RunCallableRequest request, Call call,
                                Done<RunCallableReply> done) {
  ask(*channel_, peer_, master_method::kRunCallable, WhenDown::fail, encode(request), call,
      std::move(done));
}
void RemoteMaster::release_callable(ReleaseCallableRequest request, Call call, Done<void> done) {
  ask(*channel_, peer_, master_method::kReleaseCallable, WhenDown::fail, encode(request), call,
      std::move(done));
}

void RemoteMaster::run_step(RunStepRequest request, Call call, Done<RunStepReply> done) {
  Result<wire::Pieces> message = encode(request);
  auto read = [peer = peer_, fetches = std::move(request.fetches)](
                  const Channel::Messages& bytes) -> Result<RunStepReply> {
    transport::AnsweredRunStep answer;
    if (Status status = decode(Chunks(bytes.at(0)), fetches, answer); !status.ok())
      return explain_bad_answer(*peer, master_method::kRunStep, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  ask<RunStepReply>(*channel_, peer_, master_method::kRunStep, WhenDown::fail, std::move(message),
                    call, std::move(read), std::move(done));
}

// ---- Peers --------------------------------------------------------------------------------------

Result<std::shared_ptr<WorkerService>> Peers::worker(const TaskName& task,
                                                     std::string_view address) {
  std::shared_ptr<Channel>& channel = channels_[std::string(address)];
  if (!channel) channel = std::make_shared<Channel>(process_, std::string(address));
  return std::make_shared<RemoteWorker>(transport::Peer{task.to_string(), std::string(address)},
                                        channel);
}

void Peers::abandon() {
  for (const auto& [address, channel] : channels_) channel->abandon();
}

size_t Peers::num_calls() const {
  size_t count = 0;
  for (const auto& [address, channel] : channels_) count += channel->num_calls();
  return count;
}

}  // namespace millrace::simulation
