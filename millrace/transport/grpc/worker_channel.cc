#include "millrace/transport/grpc/worker_channel.h"

#include <utility>

#include "millrace/transport/grpc/ask.h"
#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

// Lets a worker that keeps its answers forget one. Nobody waits for it.
void acknowledge(Channel& channel, std::shared_ptr<const Peer> peer, int64_t request_id) {
  channel.start_unary({.peer = std::move(peer),
                       .method = worker_method::kMarkRecvFinished,
                       .message = encode_mark_recv_finished(request_id)},
                      Done<ByteBuffer>([](const Result<ByteBuffer>&) {}));
}

}  // namespace

WorkerChannel::WorkerChannel(Peer peer, std::shared_ptr<Channel> channel)
    : peer_(std::make_shared<const Peer>(std::move(peer))), channel_(std::move(channel)) {}

OutgoingRequest WorkerChannel::to(std::string_view method, WhenDown when_down,
                                  wire::Pieces message) const {
  return {.peer = peer_, .method = method, .message = std::move(message), .when_down = when_down};
}

template <class Request, class Reply>
void WorkerChannel::ask(std::string_view method, WhenDown when_down, const Request& request,
                        const Call& call, Done<Reply> done) {
  Result<wire::Pieces> message = encode(request);
  if (!message.ok()) return done(std::move(message).status());
  transport::ask(*channel_, to(method, when_down, std::move(message).value()), call,
                 std::move(done));
}

void WorkerChannel::get_status(WhenDown when_down, Call call, Done<GetStatusReply> done) {
  transport::ask(*channel_, to(worker_method::kGetStatus, when_down, {}), call, std::move(done));
}
void WorkerChannel::create_worker_session(CreateWorkerSessionRequest request, Call call,
                                          Done<void> done) {
  ask(worker_method::kCreateWorkerSession, WhenDown::fail, request, call, std::move(done));
}
void WorkerChannel::delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                                          Done<void> done) {
  ask(worker_method::kDeleteWorkerSession, WhenDown::fail, request, call, std::move(done));
}
void WorkerChannel::register_graph(RegisterGraphRequest request, Call call,
                                   Done<RegisterGraphReply> done) {
  ask(worker_method::kRegisterGraph, WhenDown::fail, request, call, std::move(done));
}
void WorkerChannel::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  ask(worker_method::kDeregisterGraph, WhenDown::fail, request, call, std::move(done));
}
void WorkerChannel::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  ask(worker_method::kCleanupGraph, WhenDown::wait, request, call, std::move(done));
}
void WorkerChannel::cleanup_all(CleanupAllRequest request, Call call, Done<void> done) {
  ask(worker_method::kCleanupAll, WhenDown::wait, request, call, std::move(done));
}

void WorkerChannel::farewell(EndedTask ended, Call call, Done<void> done) {
  ask(task_method::kFarewell, WhenDown::fail, ended, call, std::move(done));
}

void WorkerChannel::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  Result<wire::Pieces> message = encode(request);
  if (!message.ok()) return done(std::move(message).status());
  auto read = [peer = peer_, keys = request.keys](const Chunks& bytes) -> Result<RunGraphReply> {
    static const StepKeys kNone;
    AnsweredRunGraph answer;
    if (Status status = decode(bytes, keys != nullptr ? *keys : kNone, answer); !status.ok())
      return explain_bad_answer(*peer, worker_method::kRunGraph, status);
    MR_TRY(answer.error);
    return std::move(answer.reply);
  };
  transport::ask(*channel_,
                 to(worker_method::kRunGraph, WhenDown::fail, std::move(message).value()), call,
                 std::move(read), std::move(done));
}

void WorkerChannel::recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  OutgoingRequest outgoing =
      to(worker_method::kRecvTensor, WhenDown::fail, encode(request, Parts::taken));
  outgoing.cancellation = call.cancellation;
  auto receiver = std::make_shared<TensorReceiver>();
  auto read = [receiver](const grpc_byte_buffer& message) -> Result<More> {
    MR_ASSIGN(const bool more, receiver->add(to_chunks(message)));
    return more ? More::expected : More::no;
  };
  auto finish = [receiver, done = std::move(done), peer = peer_, channel = channel_,
                 request_id = request.request_id](Status status) mutable {
    if (!status.ok()) return done(std::move(status));
    RecvTensorReply reply = receiver->take();
    if (reply.require_ack) acknowledge(*channel, std::move(peer), request_id);
    done(std::move(reply));
  };
  channel_->start_streamed(std::move(outgoing), std::move(read), Done<void>(std::move(finish)));
}

}  // namespace millrace::transport
