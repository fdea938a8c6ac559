// Line: a connection on which we make calls to a peer, any number at a time.
//
// It connects by itself; as long as it has not, and after its end, it takes no calls, and callers
// go another way. The calls that are under way at its end hear of that. Any thread may call.
#pragma once

#include <atomic>
#include <memory>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/done.h"
#include "millrace/base/host.h"
#include "millrace/transport/direct/connection.h"
#include "millrace/transport/direct/poller.h"
#include "millrace/transport/protocol/oversight.h"

namespace millrace::transport {

class LineCall;

class Line final : public Connection {
 public:
  // A socket that is being connected.
  Line(FileDescriptor socket, std::shared_ptr<Poller> poller, std::shared_ptr<Intake> intake);
  ~Line() override;

  // True once the other side has greeted, until the connection ends.
  bool is_up() const { return state_.load(std::memory_order_acquire) == State::up; }
  bool has_ended() const { return state_.load(std::memory_order_acquire) == State::ended; }

  // What becomes of the answer.
  struct Answer {
    Done<Chunks> done;  // for one message
    ReadMessage read;   // or, for several: each of them,
    Done<void> finish;  // and the end
  };
  // Makes the call, and calls the answer's Done once, on a thread of the poller. False if the line
  // takes no calls: nothing has been done then, and nothing was taken. `host` outlives the call.
  bool start(const Host& host, OutgoingRequest& request, const Oversight& oversight,
             Answer& answer);
  // Takes no calls any more, and ends when those that run have ended.
  void retire();

 private:
  friend class LineCall;
  enum class State : uint8_t { connecting, up, retired, ended };

  enum class Beginning : uint8_t { begun, too_late, refused };

  Beginning begin(uint32_t number, const std::shared_ptr<LineCall>& call, Clock::Time now,
                  wire::Pieces& message);
  void greeted() override;
  Status received(DirectMessage message, Events& events) override;
  void ended(const Status& why, Events& events) override;
  // Ends a call from our side, if it has not ended yet.
  void abandon(uint32_t number, const Status& why);
  std::shared_ptr<LineCall> find(uint32_t number);
  // The same, and it is known no more.
  std::shared_ptr<LineCall> take(uint32_t number) MR_REQUIRES(calls_mutex_);
  std::shared_ptr<LineCall> take_answered(uint32_t number);
  // A retired line whose last call has gone.
  bool is_done() const MR_REQUIRES(calls_mutex_);

  const std::shared_ptr<Poller> poller_;
  std::atomic<uint32_t> num_calls_{0};
  Mutex calls_mutex_;
  std::atomic<State> state_{State::connecting};  // changed under the lock
  absl::flat_hash_map<uint32_t, std::shared_ptr<LineCall>> calls_ MR_GUARDED_BY(calls_mutex_);
};

}  // namespace millrace::transport
