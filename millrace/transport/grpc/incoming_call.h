// IncomingCall: one call that a peer makes to us, from its arrival to the answer. Private to this
// room.
//
// It keeps itself alive while gRPC works for it; handlers share it for as long as they owe the
// answer. The request is complete when the handler gets it. Any thread may answer, once; a second
// answer and one that comes after the server has stopped do nothing. A cancelled call (the client
// gave up, its connection broke, its deadline passed, the server stops) tells its Cancellation and
// still waits for its answer, which is then dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/host.h"
#include "millrace/cluster/services.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/grpc/completion_queue.h"
#include "millrace/transport/grpc/message.h"
#include "millrace/transport/protocol/running_calls.h"

namespace millrace::transport {

class IncomingCall;

// Where calls go.
class CallReceiver {
 public:
  virtual ~CallReceiver() = default;
  // A call has come; expect the next one.
  virtual void arrived() = 0;
  // True if there is such a method.
  virtual bool knows(std::string_view method) const = 0;
  // The request is here. Answers, now or later.
  virtual void handle(std::shared_ptr<IncomingCall> call) = 0;
  virtual const Host& host() const = 0;
  // What the answers that carry promises say of transport/direct; empty: nothing.
  virtual std::string_view direct_version() const = 0;
};

class IncomingCall final : public RunningCall {
 public:
  // Asks gRPC for the next call to `server`; `receiver` and `server` must live until the server has
  // been shut down.
  static void await(grpc_server* server, CallReceiver& receiver,
                    std::shared_ptr<CompletionQueue> queue, std::shared_ptr<RunningCalls> running);

  IncomingCall(CallReceiver& receiver, std::shared_ptr<CompletionQueue> queue,
               std::shared_ptr<RunningCalls> running);

  std::string_view method() const override { return view(details_.details.method); }
  // There once the call is handled.
  Chunks request() const override { return to_chunks(*request_); }
  void drop_request() override { request_.reset(); }
  Call call() override;

  void answer(Result<wire::Pieces> reply) override;
  void answer_in_parts(std::vector<wire::Pieces> parts) override;

  void cancel(const Status& why) override;

 private:
  std::shared_ptr<IncomingCall> self() {
    return std::static_pointer_cast<IncomingCall>(shared_from_this());
  }
  void on_arrived(bool ok);
  void on_received(bool ok);
  void on_closed(bool ok);
  void on_sent(bool ok);
  bool start(std::span<const grpc_op> ops, MemberEvent<IncomingCall>& event);
  void send_part();
  void send_status(const Status& status);
  void event_done();

  CallReceiver& receiver_;
  const std::shared_ptr<CompletionQueue> queue_;
  const std::shared_ptr<RunningCalls> running_;

  CallDetails details_;
  Metadata metadata_;
  grpc_call* arriving_ = nullptr;  // where gRPC puts it
  CallHandle call_;
  grpc_byte_buffer* received_message_ = nullptr;
  ByteBuffer request_;
  Clock::Time since_;  // when it arrived
  std::optional<Clock::Time> deadline_;
  int was_cancelled_ = 0;  // valid once closed
  Cancellation cancellation_;
  std::atomic<int> events_to_come_{0};  // of those that keep it among the running calls
  std::atomic<bool> answered_{false};
  std::atomic<int64_t> reply_bytes_{0};
  // Of the thread that answers, then of the one that hears that a part was sent.
  std::vector<wire::Pieces> parts_;  // of the answer
  size_t parts_sent_ = 0;
  ByteBuffer outgoing_;

  MemberEvent<IncomingCall> arrived_{&IncomingCall::on_arrived, Work::brief};
  MemberEvent<IncomingCall> received_{&IncomingCall::on_received, Work::open_ended};
  MemberEvent<IncomingCall> closed_{&IncomingCall::on_closed, Work::bounded};
  MemberEvent<IncomingCall> sent_{&IncomingCall::on_sent, Work::brief};
};

}  // namespace millrace::transport
