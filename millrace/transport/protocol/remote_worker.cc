#include "millrace/transport/protocol/remote_worker.h"

#include <utility>

#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

// Lets a worker that keeps its answers forget one. Nobody waits for it.
void acknowledge(const Remote& remote, int64_t request_id) {
  remote.caller()->start({.peer = remote.peer(),
                          .method = worker_method::kMarkRecvFinished,
                          .message = encode_mark_recv_finished(request_id)},
                         Done<Chunks>([](const Result<Chunks>&) {}));
}

}  // namespace

RemoteWorker::RemoteWorker(Peer peer, std::shared_ptr<Caller> caller)
    : remote_(std::move(peer), std::move(caller)) {}

void RemoteWorker::get_status(WhenDown when_down, Call call, Done<GetStatusReply> done) {
  remote_.ask(worker_method::kGetStatus, when_down, wire::Pieces(), call, std::move(done));
}
void RemoteWorker::create_worker_session(CreateWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  remote_.ask(worker_method::kCreateWorkerSession, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteWorker::delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  remote_.ask(worker_method::kDeleteWorkerSession, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteWorker::register_graph(RegisterGraphRequest request, Call call,
                                  Done<RegisterGraphReply> done) {
  remote_.ask(worker_method::kRegisterGraph, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteWorker::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  remote_.ask(worker_method::kDeregisterGraph, WhenDown::fail, encode(request), call,
              std::move(done));
}
void RemoteWorker::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  remote_.ask(worker_method::kCleanupGraph, WhenDown::wait, encode(request), call, std::move(done));
}
void RemoteWorker::cleanup_all(CleanupAllRequest request, Call call, Done<void> done) {
  remote_.ask(worker_method::kCleanupAll, WhenDown::wait, encode(request), call, std::move(done));
}
void RemoteWorker::farewell(EndedTask ended, Call call, Done<void> done) {
  remote_.ask(task_method::kFarewell, WhenDown::fail, encode(ended), call, std::move(done));
}

void RemoteWorker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  Result<wire::Pieces> message = encode(request);
  auto read = [peer = remote_.peer(),
               keys = request.keys](const Chunks& bytes) -> Result<RunGraphReply> {
    static const StepKeys kNone;
    AnsweredRunGraph answer;
    if (Status status = decode(bytes, keys != nullptr ? *keys : kNone, answer); !status.ok())
      return explain_bad_answer(*peer, worker_method::kRunGraph, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  remote_.ask(worker_method::kRunGraph, WhenDown::fail, std::move(message), call, std::move(read),
              std::move(done));
}

void RemoteWorker::recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  auto receiver = std::make_shared<TensorReceiver>();
  auto read = [receiver](const Chunks& message) -> Result<More> {
    MR_ASSIGN(const bool more, receiver->add(message));
    return more ? More::expected : More::no;
  };
  auto finish = [receiver, done = std::move(done), remote = remote_,
                 request_id = request.request_id](Status status) mutable {
    if (!status.ok()) return done(std::move(status));
    RecvTensorReply reply = receiver->take();
    if (reply.require_ack) acknowledge(remote, request_id);
    done(std::move(reply));
  };
  remote_.caller()->start_streamed({.peer = remote_.peer(),
                                    .method = worker_method::kRecvTensor,
                                    .message = encode(request, Parts::taken),
                                    .cancellation = call.cancellation},
                                   std::move(read), Done<void>(std::move(finish)));
}

}  // namespace millrace::transport
