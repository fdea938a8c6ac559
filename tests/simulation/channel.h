// Channel: how a simulated process calls one address, as a gRPC channel of ours does it: it
// connects with the first call and again after a pause, fails calls at once while nobody is there
// or lets them wait, ends them by cancellation, deadline, a connection that breaks or a peer that
// has been silent for too long, and says so in the very words of transport/protocol.
//
// Owned by the process that calls, which outlives it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/process.h"

#include "millrace/transport/protocol/caller.h"
#include "millrace/transport/protocol/silence.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::simulation {

// The bytes of an answer: one message, or several of one tensor; or an error.
struct WireAnswer {
  std::vector<std::string> messages;
  transport::WireStatus status;
  size_t size() const;
};

class ServedCall;

class Channel final : public transport::Caller, public std::enable_shared_from_this<Channel> {
 public:
  // How long a silent peer is borne (transport/transport.h).
  static constexpr std::chrono::seconds kSilenceLimit{15};

  Channel(Process& process, std::string address)
      : process_(process), address_(std::move(address)) {}
  ~Channel() override;

  void start(transport::OutgoingRequest request, Done<transport::Chunks> done) override;
  void start_streamed(transport::OutgoingRequest request, transport::ReadMessage read,
                      Done<void> done) override;
  // Ends every call: the process goes.
  void abandon();
  size_t num_calls() const { return calls_.size(); }

 private:
  friend class ServedCall;
  enum class State : uint8_t { idle, connecting, ready, failed };
  using Messages = std::vector<std::string>;
  struct Asking {
    transport::OutgoingRequest request;
    std::string message;
    Done<Messages> done;
    uint64_t number = 0;
    bool is_question = false;  // whether the peer is alive
    bool is_sent = false;
    bool is_over = false;
    Cancellation::Registration registration;
    Timers::Timer deadline;
    std::weak_ptr<ServedCall> there;
  };
  using Call = std::shared_ptr<Asking>;
  struct InOrder {
    bool operator()(const Call& a, const Call& b) const { return a->number < b->number; }
  };

  void begin(transport::OutgoingRequest request, Done<Messages> done);
  void add(const Call& call);
  Status refusal(const transport::OutgoingRequest& request) const;
  void connect();
  void connected(std::shared_ptr<Connection> connection, std::string_view symptom);
  void send(const Call& call);
  void closed(std::string_view symptom);
  void arrived(const Call& call, WireAnswer answer);
  void finish(const Call& call, Result<Messages> outcome);
  void give_up(const Call& call, Status why);
  Status explain(const Asking& call, std::string_view symptom) const;
  // The pulse: calls that wait are looked at in rounds.
  void look_later();
  void look();
  void ask();
  bool is_judged(const Asking& call) const {
    return call.request.when_down == WhenDown::fail && !call.is_question;
  }
  bool has_waiting_calls() const;

  Process& process_;
  const std::string address_;
  State state_ = State::idle;
  std::shared_ptr<Connection> connection_;
  std::string symptom_;  // why it failed last
  int failures_ = 0;     // in a row
  Timers::Timer retry_;
  std::set<Call, InOrder> calls_;
  uint64_t last_number_ = 0;
  transport::Silence silence_;
  bool promises_ = false, heard_ = false, is_silent_ = false, is_looking_ = false;
  Timers::Timer round_;
};

}  // namespace millrace::simulation
