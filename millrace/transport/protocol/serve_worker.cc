// Part of served_methods.h: the methods of a task's worker.
#include <utility>

#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/serve.h"
#include "millrace/transport/protocol/served_methods.h"

namespace millrace::transport {
namespace {

void get_status(WorkerService& worker, std::shared_ptr<ReceivedCall> call) {
  const Call context = call->call();
  worker.get_status(WhenDown::fail, context, answer_to<GetStatusReply>(std::move(call)));
}

void register_graph(WorkerService& worker, const OpRegistry& ops,
                    std::shared_ptr<ReceivedCall> call) {
  RegisterGraphRequest request;
  if (!read_request(*call, request, ops)) return;
  const Call context = call->call();
  worker.register_graph(std::move(request), context,
                        answer_to<RegisterGraphReply>(std::move(call)));
}

void run_graph(WorkerService& worker, std::shared_ptr<ReceivedCall> call) {
  ReceivedRunGraph received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call), keys = received.request.keys,
                 errors_in_body = received.errors_in_body](Result<RunGraphReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply, *keys) : std::move(reply).status();
    if (!message.ok() && errors_in_body) message = encode_run_graph_error(message.status());
    call->answer(std::move(message));
  };
  worker.run_graph(std::move(received.request), context, Done<RunGraphReply>(std::move(answer)));
}

void recv_tensor(WorkerService& worker, std::shared_ptr<ReceivedCall> call) {
  ReceivedRecvTensor received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call), parts = received.parts](Result<RecvTensorReply> reply) {
    if (!reply.ok()) return call->answer(std::move(reply).status());
    auto messages = encode_recv_tensor_reply(*reply, parts);
    if (!messages.ok()) return call->answer(std::move(messages).status());
    call->answer_in_parts(std::move(messages).value());
  };
  worker.recv_tensor(std::move(received.request), context,
                     Done<RecvTensorReply>(std::move(answer)));
}

}  // namespace

void add_worker_methods(WorkerService& worker, const OpRegistry& ops, ServedMethods& methods) {
  namespace method = worker_method;
  methods[method::kGetStatus] = [&worker](std::shared_ptr<ReceivedCall> call) {
    get_status(worker, std::move(call));
  };
  methods[method::kCreateWorkerSession] = serve(worker, &WorkerService::create_worker_session);
  methods[method::kDeleteWorkerSession] = serve(worker, &WorkerService::delete_worker_session);
  methods[method::kRegisterGraph] = [&worker, &ops](std::shared_ptr<ReceivedCall> call) {
    register_graph(worker, ops, std::move(call));
  };
  methods[method::kDeregisterGraph] = serve(worker, &WorkerService::deregister_graph);
  methods[method::kRunGraph] = [&worker](std::shared_ptr<ReceivedCall> call) {
    run_graph(worker, std::move(call));
  };
  methods[method::kCleanupGraph] = serve(worker, &WorkerService::cleanup_graph);
  methods[method::kCleanupAll] = serve(worker, &WorkerService::cleanup_all);
  methods[method::kRecvTensor] = [&worker](std::shared_ptr<ReceivedCall> call) {
    recv_tensor(worker, std::move(call));
  };
  methods[task_method::kFarewell] = serve(worker, &WorkerService::farewell);
  // We never ask for an acknowledgement, so there is nothing to forget.
  methods[method::kMarkRecvFinished] = [](std::shared_ptr<ReceivedCall> call) {
    call->answer(wire::Pieces());
  };
}

}  // namespace millrace::transport
