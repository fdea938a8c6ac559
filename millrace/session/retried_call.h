// RetriedCall: one call of a client's, made again after a pause while connections break.
//
//   make_retried<RunStepReply>({host, times, &closing}, call, std::move(done),
//                              [=](const Call& call, Done<RunStepReply> done) { … });
//
// The last argument is kept and called as often as the call is made. Ends with the call's deadline
// or cancellation, also in a pause, and with the session that it is of: what has ended because that
// is closed is not made again. Any thread.
#pragma once

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/master/early_end.h"
#include "millrace/session/retry_pace.h"

namespace millrace {

struct RetriedCallTerms {
  const Host& host;  // outlives the call
  int times = 0;
  // Cancelled when the session is closed; outlives the call. Null: the call goes on all the same.
  Cancellation* closing = nullptr;
};

template <class Reply>
class RetriedCall final : public std::enable_shared_from_this<RetriedCall<Reply>> {
 public:
  using Make = absl::AnyInvocable<void(const Call&, Done<Reply>)>;

  RetriedCall(const RetriedCallTerms& terms, const Call& call, Done<Reply> done, Make make)
      : host_(terms.host),
        closing_(terms.closing),
        call_(call),
        done_(std::move(done)),
        make_(std::move(make)),
        pace_(terms.times) {}

  void start() {
    make_(call_, Done<Reply>([self = this->shared_from_this()](Outcome<Reply> outcome) {
            self->made(std::move(outcome));
          }));
  }

 private:
  static bool is_cancelled(const Cancellation* cancellation) {
    return cancellation != nullptr && cancellation->cancelled();
  }
  static const Status& status_of(const Status& outcome) { return outcome; }
  template <class T>
  static const Status& status_of(const Result<T>& outcome) {
    return outcome.status();
  }

  void made(Outcome<Reply> outcome) {
    const Status& status = status_of(outcome);
    if (status.ok()) return done_(std::move(outcome));
    const bool is_given_up = is_cancelled(call_.cancellation) || is_cancelled(closing_);
    const auto pause = is_given_up ? std::nullopt : pace_.after(status);
    if (!pause) return done_(pace_.told(status));
    if (pace_.num_repeated() == 1)
      host_.log.info("a call is made again whose connection broke: ", status.to_string());
    rest(*pause);
  }

  void rest(Clock::Duration pause) {
    // From now on it goes on where others have got it.
    call_.runner = nullptr;
    call_.waiting = false;
    MutexLock lock(mutex_);
    is_resting_ = true;
    // The callbacks take no lock, so that the timer can be replaced under it; they keep this alive.
    const auto self = this->shared_from_this();
    const auto stop = [self](const Status& why) { self->go_on(why); };
    early_end_ = EarlyEnd(host_, call_, "a broken connection to be there again", stop);
    closed_ = EarlyEnd(host_, {.cancellation = closing_}, {}, stop);
    timer_ = host_.timers.at(host_.clock.now() + pause, [self, &pool = host_.pool] {
      pool.post([self] { self->go_on({}); });
    });
  }

  void go_on(const Status& end) {
    EarlyEnd early_end, closed;
    Timers::Timer timer;
    {
      MutexLock lock(mutex_);
      if (!std::exchange(is_resting_, false)) return;
      std::swap(early_end, early_end_);
      std::swap(closed, closed_);
      std::swap(timer, timer_);
    }
    // The client may drop its cancellation when it is answered.
    early_end = {};
    closed = {};
    timer.cancel();
    if (!end.ok()) return done_(end.then(str_cat("; at first: ", pace_.first().to_string())));
    start();
  }

  const Host& host_;
  Cancellation* const closing_;
  Call call_;
  Done<Reply> done_;
  Make make_;
  RetryPace pace_;
  Mutex mutex_;
  bool is_resting_ MR_GUARDED_BY(mutex_) = false;
  EarlyEnd early_end_ MR_GUARDED_BY(mutex_);
  EarlyEnd closed_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

template <class Reply>
void make_retried(const RetriedCallTerms& terms, const Call& call, Done<Reply> done,
                  typename RetriedCall<Reply>::Make make) {
  std::make_shared<RetriedCall<Reply>>(terms, call, std::move(done), std::move(make))->start();
}

}  // namespace millrace
