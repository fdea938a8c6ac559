#include "millrace/transport/grpc/incoming_call.h"

#include <chrono>
#include <utility>

#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/promises.h"
#include "millrace/transport/protocol/status_codec.h"
#include "millrace/transport/protocol/work.h"

namespace millrace::transport {
namespace {

std::optional<Clock::Time> to_deadline(gpr_timespec when, Clock::Time now) {
  if (gpr_time_cmp(when, gpr_inf_future(when.clock_type)) == 0) return std::nullopt;
  const gpr_timespec left = gpr_time_sub(when, gpr_now(when.clock_type));
  return now + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

grpc_slice static_slice(std::string_view text) {
  return grpc_slice_from_static_buffer(text.data(), text.size());
}

}  // namespace

void IncomingCall::await(grpc_server* server, CallReceiver& receiver,
                         std::shared_ptr<CompletionQueue> queue,
                         std::shared_ptr<RunningCalls> running) {
  const CompletionQueue::Use use(*queue);
  if (!use) return;
  const auto call = std::make_shared<IncomingCall>(receiver, queue, std::move(running));
  queue->expect();
  const grpc_call_error failed = grpc_server_request_call(
      server, &call->arriving_, &call->details_.details, &call->metadata_.array, queue->get(),
      queue->get(), to_tag(call->arrived_.armed(call)));
  if (failed == GRPC_CALL_OK) return;
  queue->expect_no_more();
  call->arrived_.disarm();
  receiver.host().log.error("gRPC takes no more calls: ", grpc_call_error_to_string(failed));
}

IncomingCall::IncomingCall(CallReceiver& receiver, std::shared_ptr<CompletionQueue> queue,
                           std::shared_ptr<RunningCalls> running)
    : receiver_(receiver), queue_(std::move(queue)), running_(std::move(running)) {}

Call IncomingCall::call() { return {.cancellation = &cancellation_, .deadline = deadline_}; }

void IncomingCall::on_arrived(bool ok) {
  if (!ok) return;  // the server is shutting down
  call_.reset(arriving_);
  // From here to the last event_done() the receiver exists.
  if (const Status stopping = running_->enter(*this); !stopping.ok()) {
    answered_ = true;
    return send_status(stopping);
  }
  const Host& host = receiver_.host();
  since_ = host.clock.now();
  deadline_ = to_deadline(details_.details.deadline, since_);
  host.metrics.add(counter_of(RpcSide::taken, rpc_method(method())));
  receiver_.arrived();
  const bool is_known = receiver_.knows(method());
  events_to_come_ = is_known ? 2 : 1;

  grpc_op close{};
  close.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
  close.data.recv_close_on_server.cancelled = &was_cancelled_;
  if (!start({&close, 1}, closed_)) event_done();
  if (!is_known) return answer(unimplemented("this server has no method ", method()));

  received_.set_work(work_of_call(method()));
  grpc_op receive{};
  receive.op = GRPC_OP_RECV_MESSAGE;
  receive.data.recv_message.recv_message = &received_message_;
  if (!start({&receive, 1}, received_)) event_done();
}

void IncomingCall::on_received(bool) {
  request_.reset(received_message_);
  if (request_ != nullptr) {
    const auto bytes = static_cast<int64_t>(grpc_byte_buffer_length(request_.get()));
    receiver_.host().metrics.add(Counter::bytes_received, bytes);
    receiver_.handle(self());
  } else {
    answer(invalid("the call came without a request message"));
  }
  event_done();
}

void IncomingCall::on_closed(bool) {
  const Host& host = receiver_.host();
  const Clock::Time now = host.clock.now();
  if (was_cancelled_ != 0) cancel(why_nobody_waits(method(), deadline_, now));
  count_reply(host.metrics, reply_bytes_.load(std::memory_order_relaxed), now - since_);
  event_done();
}

// The receiver is not needed any more once all events have come.
void IncomingCall::event_done() {
  if (events_to_come_.fetch_sub(1) == 1) running_->leave(*this);
}

void IncomingCall::cancel(const Status& why) {
  if (!answered_) cancellation_.cancel(why);
}

void IncomingCall::answer(Result<wire::Pieces> reply) {
  if (answered_.exchange(true)) return;
  if (!reply.ok()) return send_status(reply.status());
  parts_.push_back(std::move(reply).value());
  send_part();
}

void IncomingCall::answer_in_parts(std::vector<wire::Pieces> parts) {
  if (answered_.exchange(true)) return;
  parts_ = std::move(parts);
  send_part();
}

bool IncomingCall::start(std::span<const grpc_op> ops, MemberEvent<IncomingCall>& event) {
  const CompletionQueue::Use use(*queue_);
  if (!use) return false;
  const grpc_call_error failed = queue_->start(call_.get(), ops, event.armed(self()));
  if (failed == GRPC_CALL_OK) return true;
  event.disarm();
  running_->complain(*this, str_cat("gRPC refuses to go on with ", method(), ": ",
                                    grpc_call_error_to_string(failed)));
  return false;
}

void IncomingCall::send_part() {
  const bool is_first = parts_sent_ == 0;
  wire::Pieces& part = parts_[parts_sent_++];
  reply_bytes_.fetch_add(static_cast<int64_t>(part.size()), std::memory_order_relaxed);
  outgoing_ = to_byte_buffer(std::move(part));
  const bool is_last = parts_sent_ == parts_.size();

  grpc_op ops[3] = {};
  size_t count = 0;
  grpc_metadata promises[2] = {};
  if (is_first) {
    ops[count].op = GRPC_OP_SEND_INITIAL_METADATA;
    if (carries_promises(method())) {
      const std::string_view direct = receiver_.direct_version();
      promises[0].key = static_slice(kAnswersAtOnceKey);
      promises[0].value = static_slice("1");
      promises[1].key = static_slice(kDirectKey);
      promises[1].value = static_slice(direct);
      ops[count].data.send_initial_metadata = {direct.empty() ? 1U : 2U, promises, {}};
    }
    ++count;
  }
  ops[count].op = GRPC_OP_SEND_MESSAGE;
  ops[count++].data.send_message.send_message = outgoing_.get();
  if (is_last) {
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count++].data.send_status_from_server.status = GRPC_STATUS_OK;
  }
  start({ops, count}, sent_);
}

void IncomingCall::on_sent(bool ok) {
  if (ok && parts_sent_ < parts_.size()) return send_part();
  parts_.clear();
  outgoing_.reset();
}

void IncomingCall::send_status(const Status& status) {
  const WireStatus wire = to_wire_status(status);
  const Slice message(grpc_slice_from_copied_buffer(wire.message.data(), wire.message.size()));
  const Slice details(grpc_slice_from_copied_buffer(wire.details.data(), wire.details.size()));
  grpc_slice message_slice = message.get();
  grpc_metadata trailer{};
  trailer.key = static_slice(kDetailsKey);
  trailer.value = details.get();

  grpc_op ops[2] = {};
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[1].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  auto& sent = ops[1].data.send_status_from_server;
  sent.status = static_cast<grpc_status_code>(wire.code);
  sent.status_details = &message_slice;
  sent.trailing_metadata_count = wire.details.empty() ? 0 : 1;
  sent.trailing_metadata = &trailer;
  start(ops, sent_);
}

}  // namespace millrace::transport
