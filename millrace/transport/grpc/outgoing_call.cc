#include "millrace/transport/grpc/outgoing_call.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include <grpc/support/alloc.h>

#include "millrace/transport/direct/numeric_address.h"
#include "millrace/transport/grpc/message.h"
#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/promises.h"
#include "millrace/transport/protocol/work.h"

namespace millrace::transport {
namespace {

// Stands in gRPC's own description of an error that a server sent.
constexpr std::string_view kSentByPeer = "Error received from peer";

gpr_timespec to_timespec(const std::optional<Clock::Time>& deadline) {
  if (!deadline) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const auto left = *deadline - std::chrono::steady_clock::now();
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(left).count(),
                          GPR_TIMESPAN));
}

}  // namespace

OutgoingCall::OutgoingCall(grpc_channel* channel, grpc_completion_queue* queue,
                           OutgoingRequest request, Oversight oversight)
    : peer_(std::move(request.peer)),
      method_(request.method),
      when_down_(request.when_down),
      cancellation_(request.cancellation),
      deadline_(request.deadline),
      pulse_(std::move(oversight.pulse)),
      offers_(std::move(oversight.offers)),
      metrics_(oversight.metrics),
      call_(grpc_channel_create_call(channel, nullptr, GRPC_PROPAGATE_DEFAULTS, queue,
                                     grpc_slice_from_static_buffer(method_.data(), method_.size()),
                                     nullptr, to_timespec(request.deadline), nullptr)),
      request_(to_byte_buffer(std::move(request.message))) {
  metrics_.add(counter_of(RpcSide::made, rpc_method(method_)));
  metrics_.add(Counter::bytes_sent, static_cast<int64_t>(grpc_byte_buffer_length(request_.get())));
  if (cancellation_ != nullptr)
    registration_ = cancellation_->on_cancel([this](const Status&) { cancel(); });
  is_in_pulse_ = when_down_ == WhenDown::fail && !oversight.is_question;
  if (is_in_pulse_) pulse_->enter(*this);
}

OutgoingCall::~OutgoingCall() {
  leave_pulse();
  registration_.release();
  grpc_byte_buffer_destroy(message_);
  if (debug_text_ != nullptr) gpr_free(const_cast<char*>(debug_text_));
}

size_t OutgoingCall::fill_request_ops(grpc_op* ops) {
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET |
                 (when_down_ == WhenDown::wait ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0);
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = request_.get();
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial_.array;
  return 4;
}

void OutgoingCall::fill_message_op(grpc_op& op) {
  op.op = GRPC_OP_RECV_MESSAGE;
  op.data.recv_message.recv_message = &message_;
}

void OutgoingCall::fill_status_op(grpc_op& op) {
  op.op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  auto& received = op.data.recv_status_on_client;
  received.trailing_metadata = &trailers_.array;
  received.status = &code_;
  received.status_details = text_.receive();
  received.error_string = &debug_text_;
}

ByteBuffer OutgoingCall::take_message() {
  ByteBuffer message(std::exchange(message_, nullptr));
  if (message != nullptr) {
    metrics_.add(Counter::bytes_received,
                 static_cast<int64_t>(grpc_byte_buffer_length(message.get())));
  }
  return message;
}

void OutgoingCall::cancel() { grpc_call_cancel(call_.get(), nullptr); }

void OutgoingCall::give_up(Clock::Duration silence) {
  given_up_ = explain_silence(*peer_, method_, silence);
  cancel();
}

void OutgoingCall::heard() { pulse_->heard(); }

bool OutgoingCall::was_sent() const {
  // The channel's target, a name, until there is a connection.
  char* const peer = grpc_call_get_peer(call_.get());
  const bool has_address = NumericAddress::of_peer(peer).has_value();
  gpr_free(peer);
  return has_address;
}

void OutgoingCall::leave_pulse() {
  if (std::exchange(is_in_pulse_, false)) pulse_->leave(*this);
}

WireStatus OutgoingCall::received_status() const {
  const InsideGrpc inside;
  return {std::bit_cast<int>(code_), std::string(view(text_.get())),
          std::string(find_metadata(trailers_.array, kDetailsKey))};
}

void OutgoingCall::hear_promises() {
  pulse_->promises(!find_metadata(initial_.array, kAnswersAtOnceKey).empty());
  if (offers_ == nullptr) return;
  if (find_metadata(initial_.array, kDirectKey) != kDirectVersion) return offers_->withdrawn();
  char* const peer = grpc_call_get_peer(call_.get());
  offers_->offered(peer);
  gpr_free(peer);
}

Status OutgoingCall::outcome() {
  leave_pulse();
  registration_.release();
  if (code_ == GRPC_STATUS_OK) {
    heard();
    if (carries_promises(method_)) hear_promises();
    return {};
  }
  if (!given_up_.ok()) return given_up_;
  using Origin = CallFailure::Origin;
  if (cancellation_ != nullptr && cancellation_->cancelled())
    return cancellation_->reason().as_consequence();
  const Status status = from_wire_status(received_status());
  // gRPC itself ends a call at its deadline, in words as if the peer had done it.
  const bool by_deadline = status.code() == Code::deadline_exceeded && deadline_ &&
                           std::chrono::steady_clock::now() >= *deadline_;
  const bool by_peer = debug_text_ != nullptr && !by_deadline &&
                       std::string_view(debug_text_).find(kSentByPeer) != std::string_view::npos;
  const CallFailure failure{status, by_peer ? Origin::peer : Origin::connection};
  if (is_said_by_peer(failure)) {
    heard();
  } else {
    pulse_->missed();
  }
  return explain_failure(*peer_, method_, failure);
}

Status OutgoingCall::refused(grpc_call_error why) const {
  return internal("gRPC refuses to start ", method_, ": ", grpc_call_error_to_string(why));
}

namespace {

Work work_of(const OutgoingRequest& request, const Oversight& oversight) {
  return oversight.is_question ? Work::bounded : work_of_answer(request.method);
}

Result<ByteBuffer> unary_answer(OutgoingCall& call) {
  MR_TRY(call.outcome());
  ByteBuffer message = call.take_message();
  if (message == nullptr) return call.bad_answer(internal("it has no message"));
  return message;
}

class UnaryCall {
 public:
  UnaryCall(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue, OutgoingRequest request,
            Oversight oversight, Done<Chunks> done, bool* was_sent)
      : queue_(std::move(queue)),
        finished_(&UnaryCall::on_finished, work_of(request, oversight)),
        call_(channel, queue_->get(), std::move(request), std::move(oversight)),
        done_(std::move(done)),
        was_sent_(was_sent) {}

  void start(const std::shared_ptr<UnaryCall>& self) {
    grpc_op ops[OutgoingCall::kMaxOps] = {};
    size_t count = call_.fill_request_ops(ops);
    call_.fill_message_op(ops[count++]);
    call_.fill_status_op(ops[count++]);
    const grpc_call_error failed = queue_->start(call_.get(), {ops, count}, finished_.armed(self));
    if (failed == GRPC_CALL_OK) return;
    finished_.disarm();
    done_(call_.refused(failed));
  }

 private:
  void on_finished(bool) {
    const Result<ByteBuffer> answer = unary_answer(call_);
    if (was_sent_ != nullptr) *was_sent_ = call_.was_sent();
    if (!answer.ok()) return done_(answer.status());
    done_(to_chunks(**answer));
  }

  const std::shared_ptr<CompletionQueue> queue_;
  MemberEvent<UnaryCall> finished_;
  OutgoingCall call_;
  Done<Chunks> done_;
  bool* const was_sent_;
};

// Two things are waited for: the messages, one after the other, and the status.
class StreamedCall : public std::enable_shared_from_this<StreamedCall> {
 public:
  StreamedCall(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue,
               OutgoingRequest request, Oversight oversight, ReadMessage read, Done<void> done)
      : queue_(std::move(queue)),
        message_arrived_(&StreamedCall::on_message, work_of(request, oversight)),
        status_arrived_(&StreamedCall::on_status, work_of(request, oversight)),
        call_(channel, queue_->get(), std::move(request), std::move(oversight)),
        read_(std::move(read)),
        done_(std::move(done)) {}

  void start() {
    grpc_op status_op{};
    call_.fill_status_op(status_op);
    if (!started({&status_op, 1}, status_arrived_)) one_finished();
    grpc_op ops[OutgoingCall::kMaxOps] = {};
    size_t count = call_.fill_request_ops(ops);
    call_.fill_message_op(ops[count++]);
    if (!started({ops, count}, message_arrived_)) one_finished();
  }

 private:
  bool started(std::span<const grpc_op> ops, MemberEvent<StreamedCall>& event) {
    const CompletionQueue::Use use(*queue_);
    if (use && queue_->start(call_.get(), ops, event.armed(shared_from_this())) == GRPC_CALL_OK)
      return true;
    event.disarm();
    if (read_error_.ok()) read_error_ = use ? internal("gRPC does not go on") : use.why_not();
    return false;
  }

  void on_message(bool) {
    const ByteBuffer message = call_.take_message();
    if (message == nullptr) return one_finished();
    call_.heard();
    Result<More> more = read_(to_chunks(*message));
    if (!more.ok()) {
      read_error_ = std::move(more).status();
      call_.cancel();
      return one_finished();
    }
    has_answer_ = *more == More::no;
    if (has_answer_) return one_finished();
    grpc_op op{};
    call_.fill_message_op(op);
    if (!started({&op, 1}, message_arrived_)) one_finished();
  }

  void on_status(bool) { one_finished(); }

  void one_finished() {
    if (unfinished_.fetch_sub(1) > 1) return;
    const Status outcome = call_.outcome();
    if (!read_error_.ok()) return done_(call_.bad_answer(read_error_));
    if (!outcome.ok()) return done_(outcome);
    if (!has_answer_) return done_(call_.bad_answer(internal("it ends too early")));
    done_(Status());
  }

  const std::shared_ptr<CompletionQueue> queue_;
  MemberEvent<StreamedCall> message_arrived_;
  MemberEvent<StreamedCall> status_arrived_;
  OutgoingCall call_;
  ReadMessage read_;
  Done<void> done_;
  std::atomic<int> unfinished_{2};
  Status read_error_;        // written before the message side finishes
  bool has_answer_ = false;  // likewise
};

}  // namespace

void start_unary_call(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue,
                      OutgoingRequest request, Oversight oversight, Done<Chunks> done,
                      bool* was_sent) {
  if (Status status = check_request(request, oversight); !status.ok())
    return done(std::move(status));
  const CompletionQueue::Use use(*queue);
  if (!use) return done(use.why_not());
  const auto call = std::make_shared<UnaryCall>(channel, queue, std::move(request),
                                                std::move(oversight), std::move(done), was_sent);
  call->start(call);
}

void start_streamed_call(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue,
                         OutgoingRequest request, Oversight oversight, ReadMessage read,
                         Done<void> done) {
  if (Status status = check_request(request, oversight); !status.ok())
    return done(std::move(status));
  const CompletionQueue::Use use(*queue);
  if (!use) return done(use.why_not());
  std::make_shared<StreamedCall>(channel, queue, std::move(request), std::move(oversight),
                                 std::move(read), std::move(done))
      ->start();
}

Result<ByteBuffer> call_and_wait(grpc_channel* channel, grpc_completion_queue* queue,
                                 OutgoingRequest request, Oversight oversight) {
  MR_TRY(check_request(request, oversight));
  OutgoingCall call(channel, queue, std::move(request), std::move(oversight));
  grpc_op ops[OutgoingCall::kMaxOps] = {};
  size_t count = call.fill_request_ops(ops);
  call.fill_message_op(ops[count++]);
  call.fill_status_op(ops[count++]);
  const grpc_call_error failed = run_batch(call.get(), queue, {ops, count});
  if (failed != GRPC_CALL_OK) return call.refused(failed);
  return unary_answer(call);
}

}  // namespace millrace::transport
