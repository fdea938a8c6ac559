// EarlyEnd: tells one operation that its client gave up, that its time is over, or that the master
// stops.
//
// Owned by the operation, which makes it with a `stop` function that holds the operation weakly.
// `stop` runs on Host::endings, never inside somebody's cancellation or on the timer's
// thread, so it may do whatever ending the operation takes; and not on the pool, all of whose
// threads may be at what is to end. It may come after the operation ended, and more than once. Any
// thread may destroy it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "millrace/base/cancellation.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"
#include "millrace/cluster/services.h"
#include "millrace/master/master_options.h"

namespace millrace {

class EarlyEnd {
 public:
  using Stop = std::function<void(Status why)>;

  EarlyEnd() = default;
  // `what` is named when the deadline passes: "Timed out waiting for <what>".
  EarlyEnd(const Host& host, const Call& call, std::string_view what, const Stop& stop);
  // Of a call without a deadline, as most from elsewhere are: `stop` may be small, and needs no
  // words.
  template <class SmallStop>
  static EarlyEnd when_given_up(Cancellation& cancellation, Runner& endings, SmallStop stop) {
    EarlyEnd made;
    made.given_up_ = posting(cancellation, endings, std::move(stop));
    return made;
  }
  // For operations that no session ends: also when the master stops.
  static EarlyEnd or_stopping(MasterContext& context, const Call& call, std::string_view what,
                              const Stop& stop);

  // What is said when the deadline passes.
  static Status late(std::string_view what);
  // The earlier of the call's deadline and `timeout` from `now`; 0 means none.
  static std::optional<Clock::Time> deadline(const Call& call, std::chrono::milliseconds timeout,
                                             Clock::Time now);
  // When to answer a client elsewhere that stops listening at `deadline`, so that it hears why: a
  // tenth of what is left before that, half a second at most.
  static Clock::Time in_time_for(Clock::Time deadline, Clock::Time now);

 private:
  template <class AnyStop>
  static Cancellation::Registration posting(Cancellation& cancellation, Runner& endings,
                                            AnyStop stop) {
    return cancellation.on_cancel([&endings, stop = std::move(stop)](const Status& why) {
      endings.post([stop, why] { stop(why); });
    });
  }

  Cancellation::Registration given_up_;
  Cancellation::Registration stopping_;
  Timers::Timer timer_;
};

}  // namespace millrace
