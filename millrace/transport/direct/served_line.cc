#include "millrace/transport/direct/served_line.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/result.h"
#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/work.h"

namespace millrace::transport {

// One call, from when its request is whole to the answer. Among the running calls until nobody
// waits for its answer any more and its handler has returned: the services are needed as long.
class LineRequest final : public RunningCall {
 public:
  LineRequest(std::shared_ptr<ServedLine> line, std::shared_ptr<const LineService> service,
              DirectMessage message)
      : line_(std::move(line)),
        service_(std::move(service)),
        number_(message.call),
        method_(std::move(message.method)),
        request_(std::move(message.bytes)),
        since_(service_->host.clock.now()) {
    if (message.deadline_micros > 0) {
      const auto left = std::min<uint64_t>(message.deadline_micros, kLongestDeadline);
      deadline_ = since_ + std::chrono::microseconds(left);
    }
  }

  std::string_view method() const override { return method_; }
  Chunks request() const override { return request_.chunks(); }
  void drop_request() override { request_.drop(); }
  Call call() override {
    // With a deadline a callee takes a runner for a thread that waits no longer than that.
    return {.cancellation = &cancellation_,
            .runner = deadline_ ? nullptr : service_->goes_on.get(),
            .deadline = deadline_};
  }

  // Whoever has been told the reason answers with it.
  Status enter() {
    MR_TRY(service_->running->enter(*this));
    Metrics& metrics = service_->host.metrics;
    metrics.add(counter_of(RpcSide::taken, rpc_method(method_)));
    metrics.add(Counter::bytes_received, static_cast<int64_t>(request_.filled()));
    return {};
  }

  void handle(const Handler& handler) {
    handler(std::static_pointer_cast<ReceivedCall>(shared_from_this()));
    one_done();
  }
  // Nobody is told anything.
  void drop() {
    answered_ = true;
    service_->running->leave(*this);
  }
  // Nobody handles it.
  void refuse(const Status& why) {
    answer(why);
    one_done();
  }

  void answer(Result<wire::Pieces> reply) override {
    if (answered_.exchange(true) || !line_->forget(number_)) return;
    if (reply.ok()) {
      reply_bytes_ += static_cast<int64_t>(reply->size());
      line_->send(answer_frame(number_, std::move(reply).value(), false));
    } else {
      line_->send(error_frame(number_, reply.status()));
    }
    closed();
  }

  void answer_in_parts(std::vector<wire::Pieces> parts) override {
    if (answered_.exchange(true) || !line_->forget(number_)) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      reply_bytes_ += static_cast<int64_t>(parts[i].size());
      line_->put(answer_frame(number_, std::move(parts[i]), i + 1 < parts.size()));
    }
    line_->flush();
    closed();
  }

  // Nobody waits any more. From whoever has made the line forget it.
  void nobody_waits() {
    cancel(why_nobody_waits(method_, deadline_, service_->host.clock.now()));
    closed();
  }
  void cancel(const Status& why) override {
    if (!answered_) cancellation_.cancel(why);
  }

 private:
  // A year is as good as for ever.
  static constexpr uint64_t kLongestDeadline = uint64_t{365} * 24 * 3600 * 1'000'000;

  void closed() {
    count_reply(service_->host.metrics, reply_bytes_, service_->host.clock.now() - since_);
    one_done();
  }
  void one_done() {
    if (to_be_done_.fetch_sub(1) == 1) service_->running->leave(*this);
  }

  const std::shared_ptr<ServedLine> line_;
  const std::shared_ptr<const LineService> service_;
  const uint32_t number_;
  const std::string method_;
  ReceivedBytes request_;
  const Clock::Time since_;
  std::optional<Clock::Time> deadline_;
  Cancellation cancellation_;
  std::atomic<bool> answered_{false};
  std::atomic<int> to_be_done_{2};  // handled, and nobody waits any more
  int64_t reply_bytes_ = 0;         // of who answers
};

namespace {

Event* nobody_waits(std::shared_ptr<LineRequest> call) {
  return as_event(Work::bounded, [call = std::move(call)] { call->nobody_waits(); });
}

}  // namespace

ServedLine::ServedLine(FileDescriptor socket, std::shared_ptr<const LineService> service,
                       std::shared_ptr<Intake> intake)
    : Connection(std::move(socket), Greeting::past, std::move(intake)),
      service_(std::move(service)) {}
ServedLine::~ServedLine() = default;

std::shared_ptr<LineRequest> ServedLine::take(uint32_t number) {
  MutexLock lock(calls_mutex_);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return nullptr;
  std::shared_ptr<LineRequest> call = std::move(found->second);
  calls_.erase(found);
  return call;
}

bool ServedLine::has_waiting_calls() const {
  MutexLock lock(calls_mutex_);
  return !calls_.empty();
}

void ServedLine::visit() {
  const bool heard = heard_.exchange(false, std::memory_order_relaxed);
  if (!has_waiting_calls()) return silence_.reset();
  switch (silence_.on_round(heard ? Silence::Sign::heard : Silence::Sign::none)) {
    case Silence::Action::ask:
      return send(bare_frame(FrameKind::ask));
    case Silence::Action::give_up:
      return hang_up();
    default:
      return;
  }
}

Status ServedLine::received(DirectMessage message, Events& events) {
  heard_.store(true, std::memory_order_relaxed);
  switch (message.kind) {
    case FrameKind::request:
      return take_request(std::move(message), events);
    case FrameKind::cancel:
      if (auto call = take(message.call)) events.push_back(nobody_waits(std::move(call)));
      return {};
    case FrameKind::ask:
      send(bare_frame(FrameKind::here));
      return {};
    case FrameKind::here:
      return {};
    default:
      return invalid("a caller sent an answer");
  }
}

bool ServedLine::remember(uint32_t number, std::shared_ptr<LineRequest> call) {
  MutexLock lock(calls_mutex_);
  return calls_.emplace(number, std::move(call)).second;
}

Status ServedLine::take_request(DirectMessage message, Events& events) {
  const uint32_t number = message.call;
  Status refusal = std::move(message.refusal);
  const auto call = std::make_shared<LineRequest>(
      std::static_pointer_cast<ServedLine>(shared_from_this()), service_, std::move(message));
  if (const Status stopping = call->enter(); !stopping.ok()) {
    send(error_frame(number, stopping));
    return {};
  }
  const auto method = service_->methods.find(call->method());
  if (refusal.ok() && method == service_->methods.end())
    refusal = unimplemented("this server has no method ", call->method());
  if (!remember(number, call)) {
    call->drop();
    return invalid("a caller used the number of a call that runs");
  }
  if (!refusal.ok()) {
    call->refuse(refusal);
    return {};
  }
  service_->rounds->wake();
  events.push_back(as_event(work_of_call(call->method()),
                            [call, &handler = method->second] { call->handle(handler); }));
  return {};
}

void ServedLine::ended(const Status&, Events& events) {
  std::vector<std::shared_ptr<LineRequest>> calls;
  {
    MutexLock lock(calls_mutex_);
    for (auto& [number, call] : calls_) calls.push_back(std::move(call));
    calls_.clear();
  }
  for (auto& call : calls) events.push_back(nobody_waits(std::move(call)));
}

}  // namespace millrace::transport
