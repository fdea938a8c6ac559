#include "tests/simulation/serving.h"

#include <utility>

#include "millrace/transport/grpc/work.h"
#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::simulation {
namespace {

using transport::Chunks;
using transport::decode;
using transport::encode;
using transport::short_name;

// False if the request makes no sense; the call is answered then.
template <class Request, class... Context>
bool read_request(ServedCall& call, Request& request, const Context&... context) {
  Status status = decode(Chunks(call.request()), context..., request);
  if (status.ok()) return true;
  call.answer(status.with(short_name(call.method())));
  return false;
}

template <class Reply>
Done<Reply> answer_to(std::shared_ptr<ServedCall> call) {
  return Done<Reply>([call = std::move(call)](Outcome<Reply> reply) {
    if constexpr (std::is_void_v<Reply>) {
      call->answer(reply.ok() ? Result<wire::Pieces>(wire::Pieces()) : std::move(reply));
    } else {
      call->answer(reply.ok() ? encode(*reply) : Result<wire::Pieces>(std::move(reply).status()));
    }
  });
}

template <class Service, class Request, class Reply>
Serving::Handler serve(Service& service, void (Service::*method)(Request, Call, Done<Reply>)) {
  return [&service, method](std::shared_ptr<ServedCall> call) {
    Request request;
    if (!read_request(*call, request)) return;
    const Call context = call->call();
    (service.*method)(std::move(request), context, answer_to<Reply>(std::move(call)));
  };
}

void run_step(MasterService& master, std::shared_ptr<ServedCall> call) {
  transport::ReceivedRunStep received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call),
                 fetches = received.request.fetches](Result<RunStepReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply, fetches) : std::move(reply).status();
    if (!message.ok()) message = transport::encode_run_step_error(message.status());
    call->answer(std::move(message));
  };
  master.run_step(std::move(received.request), context, Done<RunStepReply>(std::move(answer)));
}

void run_callable(MasterService& master, std::shared_ptr<ServedCall> call) {
  RunCallableRequest request;
  if (!read_request(*call, request)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call)](Result<RunCallableReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply) : std::move(reply).status();
    if (!message.ok()) message = transport::hide_unavailable(message.status());
    call->answer(std::move(message));
  };
  master.run_callable(std::move(request), context, Done<RunCallableReply>(std::move(answer)));
}

void run_graph(WorkerService& worker, std::shared_ptr<ServedCall> call) {
  transport::ReceivedRunGraph received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call),
                 keys = received.request.keys](Result<RunGraphReply> reply) {
    Result<wire::Pieces> message = reply.ok() ? encode(*reply, *keys) : std::move(reply).status();
    if (!message.ok()) message = transport::encode_run_graph_error(message.status());
    call->answer(std::move(message));
  };
  worker.run_graph(std::move(received.request), context, Done<RunGraphReply>(std::move(answer)));
}

void recv_tensor(WorkerService& worker, std::shared_ptr<ServedCall> call) {
  transport::ReceivedRecvTensor received;
  if (!read_request(*call, received)) return;
  const Call context = call->call();
  auto answer = [call = std::move(call), parts = received.parts](Result<RecvTensorReply> reply) {
    if (!reply.ok()) return call->answer(std::move(reply).status());
    auto messages = transport::encode_recv_tensor_reply(*reply, parts);
    if (!messages.ok()) return call->answer(std::move(messages).status());
    call->answer_in_parts(std::move(messages).value());
  };
  worker.recv_tensor(std::move(received.request), context,
                     Done<RecvTensorReply>(std::move(answer)));
}

}  // namespace

// ---- ServedCall
// ----------------------------------------------------------------------------------

ServedCall::ServedCall(Serving& serving, uint64_t number, std::shared_ptr<Connection> connection,
                       std::string_view method, std::string message,
                       std::optional<Clock::Time> deadline, Answer answer)
    : serving_(&serving),
      number_(number),
      connection_(std::move(connection)),
      method_(method),
      request_(std::move(message)),
      deadline_(deadline),
      answer_(std::move(answer)) {}

void ServedCall::dropped() {
  const std::string_view name = short_name(method_);
  cancel(
      cancelled("the caller of ", name, " cancelled it or lost its connection").as_consequence());
}

void ServedCall::cancel(const Status& why) {
  if (is_answered_ || serving_ == nullptr) return;
  // As gRPC's threads would, and not inside whoever sent the word.
  serving_->process_.actor().post([self = shared_from_this(), why] {
    if (!self->is_answered_) self->cancellation_.cancel(why);
  });
}

void ServedCall::answer(Result<wire::Pieces> reply) {
  if (reply.ok()) return send({{reply->join()}, {}});
  send({{}, transport::to_wire_status(reply.status())});
}

void ServedCall::answer_in_parts(std::vector<wire::Pieces> parts) {
  WireAnswer answer;
  for (const wire::Pieces& part : parts) answer.messages.push_back(part.join());
  send(std::move(answer));
}

void ServedCall::send(WireAnswer answer) {
  if (std::exchange(is_answered_, true)) return;
  const auto self = shared_from_this();
  deadline_timer_.cancel();
  if (serving_ == nullptr) return;
  serving_->calls_.erase(number_);
  if (serving_->process_.is_dead()) return;
  const size_t size = answer.size();
  connection_->send(Side::called, size, [to = answer_, answer = std::move(answer)] { to(answer); });
}

// ---- Serving
// -------------------------------------------------------------------------------------

Serving::Serving(Process& process, std::string address, MasterService& master,
                 WorkerService& worker, const OpRegistry& ops)
    : process_(process), address_(std::move(address)) {
  add_master_methods(master);
  add_worker_methods(worker, ops);
}

Serving::~Serving() {
  close();
  for (const auto& [number, call] : calls_) call->serving_ = nullptr;
}

void Serving::start() {
  process_.network().listen(address_, process_.site(),
                            [weak = weak_from_this()](const std::shared_ptr<Connection>& made) {
                              if (auto self = weak.lock()) self->accept(made);
                            });
}

void Serving::accept(const std::shared_ptr<Connection>& connection) {
  connections_.push_back(connection);
  connection->take(weak_from_this());
  connection->on_closed(Side::called,
                        [weak = weak_from_this(), raw = connection.get()](std::string_view) {
                          if (auto self = weak.lock()) self->closed(raw);
                        });
}

void Serving::closed(const Connection* connection) {
  std::erase_if(connections_, [&](const auto& other) { return other.get() == connection; });
  const auto calls = calls_;
  for (const auto& [number, call] : calls)
    if (call->connection_.get() == connection) call->dropped();
}

std::shared_ptr<ServedCall> Serving::take(std::shared_ptr<Connection> connection,
                                          std::string_view method, std::string message,
                                          std::optional<Clock::Time> deadline,
                                          ServedCall::Answer answer) {
  const uint64_t number = ++last_number_;
  auto call = std::make_shared<ServedCall>(*this, number, std::move(connection), method,
                                           std::move(message), deadline, std::move(answer));
  calls_.emplace(number, call);
  auto handle = [this, self = weak_from_this(), call] {
    if (self.expired() || call->is_answered_) return;
    if (!stopping_.ok()) return call->answer(stopping_);
    const auto handler = methods_.find(call->method());
    if (handler == methods_.end())
      return call->answer(unimplemented("this server has no method ", call->method()));
    handler->second(call);
  };
  // However busy it is, a server answers at once what it need not work for.
  if (transport::work_of_call(method) == transport::Work::open_ended) {
    process_.actor().post_work(std::move(handle));
  } else {
    process_.actor().post(std::move(handle));
  }
  if (deadline) {
    call->deadline_timer_ =
        process_.host().timers.at(*deadline, [weak = std::weak_ptr(call), method] {
          if (auto call = weak.lock())
            call->cancel(error(Code::deadline_exceeded, "the caller's deadline for ",
                               short_name(method), " passed")
                             .as_consequence());
        });
  }
  return call;
}

void Serving::stop(const Status& why) {
  stopping_ = why;
  const auto calls = calls_;
  for (const auto& [number, call] : calls) call->cancel(why);
}

void Serving::close() {
  process_.network().stop_listening(address_);
  for (const auto& connection : std::exchange(connections_, {})) connection->close(Side::called);
}

void Serving::add_master_methods(MasterService& master) {
  namespace method = transport::master_method;
  methods_[method::kCreateSession] = serve(master, &MasterService::create_session);
  methods_[method::kExtendSession] = serve(master, &MasterService::extend_session);
  methods_[method::kPartialRunSetup] = serve(master, &MasterService::partial_run_setup);
  methods_[method::kRunStep] = [&master](auto call) { run_step(master, std::move(call)); };
  methods_[method::kCloseSession] = serve(master, &MasterService::close_session);
  methods_[method::kListDevices] = serve(master, &MasterService::list_devices);
  methods_[method::kReset] = serve(master, &MasterService::reset);
  methods_[method::kMakeCallable] = serve(master, &MasterService::make_callable);
  methods_[method::kRunCallable] = [&master](auto call) { run_callable(master, std::move(call)); };
  methods_[method::kReleaseCallable] = serve(master, &MasterService::release_callable);
}

void Serving::add_worker_methods(WorkerService& worker, const OpRegistry& ops) {
  namespace method = transport::worker_method;
  methods_[method::kGetStatus] = [&worker](std::shared_ptr<ServedCall> call) {
    const Call context = call->call();
    worker.get_status(WhenDown::fail, context, answer_to<GetStatusReply>(std::move(call)));
  };
  methods_[method::kCreateWorkerSession] = serve(worker, &WorkerService::create_worker_session);
  methods_[method::kDeleteWorkerSession] = serve(worker, &WorkerService::delete_worker_session);
  methods_[method::kRegisterGraph] = [&worker, &ops](std::shared_ptr<ServedCall> call) {
    RegisterGraphRequest request;
    if (!read_request(*call, request, ops)) return;
    const Call context = call->call();
    worker.register_graph(std::move(request), context,
                          answer_to<RegisterGraphReply>(std::move(call)));
  };
  methods_[method::kDeregisterGraph] = serve(worker, &WorkerService::deregister_graph);
  methods_[method::kRunGraph] = [&worker](auto call) { run_graph(worker, std::move(call)); };
  methods_[method::kCleanupGraph] = serve(worker, &WorkerService::cleanup_graph);
  methods_[method::kCleanupAll] = serve(worker, &WorkerService::cleanup_all);
  methods_[method::kRecvTensor] = [&worker](auto call) { recv_tensor(worker, std::move(call)); };
  methods_[transport::task_method::kFarewell] = serve(worker, &WorkerService::farewell);
}

}  // namespace millrace::simulation
