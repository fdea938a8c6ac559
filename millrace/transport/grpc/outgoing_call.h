// OutgoingCall: one call of ours to a peer. Private to this room.
//
// Three ways to wait for it: UnaryCall answers a Done from the queue's threads; call_and_wait
// blocks and reads the socket on the calling thread, so that nobody has to be woken; StreamedCall
// hands over each message of an answer that comes in several.
//
// A cancellation ends a call at once with the cancellation's reason, as a consequence.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/metrics.h"
#include "millrace/cluster/services.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/grpc/completion_queue.h"
#include "millrace/transport/protocol/caller.h"
#include "millrace/transport/protocol/connection_error.h"
#include "millrace/transport/protocol/oversight.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {

class OutgoingCall final : public Overseen {
 public:
  OutgoingCall(grpc_channel* channel, grpc_completion_queue* queue, OutgoingRequest request,
               Oversight oversight);
  ~OutgoingCall();
  OutgoingCall(const OutgoingCall&) = delete;
  OutgoingCall& operator=(const OutgoingCall&) = delete;

  // To be filled into an array of at least so many; the result says how many were.
  static constexpr size_t kMaxOps = 6;
  size_t fill_request_ops(grpc_op* ops);
  void fill_message_op(grpc_op& op);
  void fill_status_op(grpc_op& op);

  void cancel();
  // Ends the call because its peer has been silent for so long. From its pulse, which it has
  // entered.
  void give_up(Clock::Duration silence) override;
  // A message of the answer is here.
  void heard();
  // Whether it may have reached the peer: it has been given to a connection. Until the end it may
  // yet be.
  bool was_sent() const;
  const Peer& peer() const override { return *peer_; }
  grpc_call* get() const { return call_.get(); }
  // The message that came last; null if none did.
  ByteBuffer take_message();
  // How the call ended, once the status is there. Lets go of the cancellation.
  Status outcome();
  // `problem`, which we found in the answer, as an error of this call.
  Status bad_answer(const Status& problem) const {
    return explain_bad_answer(*peer_, method_, problem);
  }
  Status refused(grpc_call_error why) const;

 private:
  WireStatus received_status() const;
  void leave_pulse();
  void hear_promises();

  const std::shared_ptr<const Peer> peer_;
  const std::string_view method_;
  const WhenDown when_down_;
  Cancellation* const cancellation_;
  const std::optional<Clock::Time> deadline_;
  const std::shared_ptr<PeerPulse> pulse_;
  const std::shared_ptr<OfferTaker> offers_;
  Metrics& metrics_;
  const CallHandle call_;
  ByteBuffer request_;
  Metadata initial_;
  Metadata trailers_;
  grpc_byte_buffer* message_ = nullptr;
  grpc_status_code code_ = GRPC_STATUS_UNKNOWN;
  Slice text_;
  const char* debug_text_ = nullptr;
  bool is_in_pulse_ = false;
  Status given_up_;  // written by the pulse, ours once we have left it
  Cancellation::Registration registration_;
};

// Calls `done` once, on a thread of the queue, or inside this call if it could not be started. The
// bytes are there until it returns. `was_sent` is told before that.
void start_unary_call(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue,
                      OutgoingRequest request, Oversight oversight, Done<Chunks> done,
                      bool* was_sent = nullptr);

// Blocks until the answer is there. `queue` is one for plucking that nobody else uses meanwhile.
Result<ByteBuffer> call_and_wait(grpc_channel* channel, grpc_completion_queue* queue,
                                 OutgoingRequest request, Oversight oversight);

// As start_unary_call, for an answer of one or more messages.
void start_streamed_call(grpc_channel* channel, std::shared_ptr<CompletionQueue> queue,
                         OutgoingRequest request, Oversight oversight, ReadMessage read,
                         Done<void> done);

}  // namespace millrace::transport
