// Channel: our end of the connection to one address. Private to this room.
//
// Connects when first used, and again when the connection was lost, at most a tenth of a second
// after the last try. A name that does not resolve yet is looked up again (awaited_call.h). Calls
// end if the peer is silent for long (peer_pulse.h). Any thread may call. Shared by all who talk to
// that address.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/transport/direct/lines.h"
#include "millrace/transport/grpc/outgoing_call.h"
#include "millrace/transport/protocol/peer_pulse.h"

namespace millrace::transport {

class Channel final : public Caller, public Visited, public std::enable_shared_from_this<Channel> {
 public:
  struct Options {
    // How often a silent peer is asked whether it is there. TensorFlow's servers close connections
    // that ask more often than every five minutes.
    int keepalive_millis = 310'000;
    // "HOST:PORT", in numbers, of who is asked for names. Empty: whom the system asks.
    std::string name_server = {};
  };

  // With lines calls take them where the peer offers them. Part of the rounds. `metrics` live as
  // long as the threads of `queue`.
  static std::shared_ptr<Channel> create(const std::string& address,
                                         std::shared_ptr<CompletionQueue> queue, Options options,
                                         std::shared_ptr<Rounds> rounds, Metrics& metrics,
                                         std::shared_ptr<Lines> lines = nullptr);
  ~Channel() override;

  // A caller who waits reads the socket.
  void start(OutgoingRequest request, Done<Chunks> done) override;
  void start_streamed(OutgoingRequest request, ReadMessage read, Done<void> done) override;

  // No connection could be made, and gRPC rests before it tries again or is at an attempt that may
  // have begun before the peer was there.
  bool is_failing() const;

  void visit() override;
  bool has_waiting_calls() const override { return pulse_->has_waiting_calls(); }
  void end_visits() override { pulse_->stop(); }
  // For tests: something was heard of the peer since the last visit.
  bool was_heard() const { return pulse_->was_heard(); }

 private:
  Channel(const std::string& address, std::shared_ptr<CompletionQueue> queue, Options options,
          std::shared_ptr<Rounds> rounds, Metrics& metrics, std::shared_ptr<Lines> lines);
  Oversight oversight() { return {.pulse = pulse_, .metrics = metrics_, .offers = lines_}; }
  bool start_on_line(OutgoingRequest& request, Line::Answer& answer);
  // Of a peer that is known by a name, and may not be up.
  void start_awaited(OutgoingRequest request, Done<Chunks> done);
  Result<ByteBuffer> wait_for(OutgoingRequest request);
  std::shared_ptr<grpc_channel> live() const;
  // AwaitedCall::Way's.
  bool renew_if_failing();
  void ask();
  QueueHandle take_wait_queue();
  void give_back(QueueHandle queue);

  const std::shared_ptr<CompletionQueue> queue_;  // also keeps gRPC initialised
  const std::shared_ptr<const Peer> peer_;
  const Options options_;
  const std::shared_ptr<Rounds> rounds_;
  const std::shared_ptr<PeerPulse> pulse_;
  Metrics& metrics_;
  const std::shared_ptr<Lines> lines_;  // null: gRPC alone
  mutable Mutex mutex_;
  std::shared_ptr<grpc_channel> channel_ MR_GUARDED_BY(mutex_);
  std::vector<QueueHandle> wait_queues_ MR_GUARDED_BY(mutex_);  // idle
};

}  // namespace millrace::transport
