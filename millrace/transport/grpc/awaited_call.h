// AwaitedCall: a call that may wait for its peer to come up, where that is known by a name. Private
// to this room.
//
// gRPC looks a name up that does not resolve after 1 s, 1.6 s, 2.6 s and so on, up to two minutes,
// and nothing makes it hurry: a task that comes up late would be found as much later again. So
// while the peer can't be reached, the call begins anew on a fresh channel, which looks the name up
// at once: after a quarter of a second, later after a quarter of the time that it has waited, and
// every other second at least. It may have effects: what has been given to a connection is not
// begun anew, and ends as the connection does.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/transport/protocol/caller.h"

namespace millrace::transport {

class AwaitedCall : public std::enable_shared_from_this<AwaitedCall> {
 public:
  // How it is made.
  struct Way {
    // Makes a try. Before it calls `done` it tells whether the peer may have got it.
    std::function<void(OutgoingRequest request, bool* was_sent, Done<Chunks> done)> start;
    // Has the next start go by a fresh channel, if the peer can't be reached by this one; whether
    // that is so.
    std::function<bool()> renew_if_failing;
  };

  // False for an address in numbers, which nobody has to look up.
  static bool is_of_use(std::string_view address);
  // Calls `done` once, as Caller::start does. The host lives until then.
  static void start(Host host, OutgoingRequest request, Way way, Done<Chunks> done);

 private:
  AwaitedCall(Host host, OutgoingRequest request, Way way, Done<Chunks> done);
  void start_try();
  void on_end(Result<Chunks> answer);
  void look_later();
  void look();
  void cancel_try(Status why);

  const Host host_;
  const OutgoingRequest request_;
  const Way way_;
  const Clock::Time begin_;
  Cancellation::Registration registration_;  // of who made the call
  bool was_sent_ = false;                    // the try that has just ended

  Mutex mutex_;
  Done<Chunks> done_ MR_GUARDED_BY(mutex_);                  // empty once it is over
  std::shared_ptr<Cancellation> try_ MR_GUARDED_BY(mutex_);  // that is under way
  bool is_beginning_anew_ MR_GUARDED_BY(mutex_) = false;     // once the try has ended
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
