#include "tests/simulation/serving.h"

#include <utility>

#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/served_methods.h"
#include "millrace/transport/protocol/work.h"

namespace millrace::simulation {

using transport::short_name;

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
  transport::add_master_methods(master, methods_);
  transport::add_worker_methods(worker, ops, methods_);
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

}  // namespace millrace::simulation
