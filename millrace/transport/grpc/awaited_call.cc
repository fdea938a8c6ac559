#include "millrace/transport/grpc/awaited_call.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "millrace/cluster/host_port.h"

namespace millrace::transport {
namespace {

using std::chrono::milliseconds;

constexpr Clock::Duration kShortest = milliseconds(250);
constexpr Clock::Duration kLongest = milliseconds(2'000);
constexpr int kPartOfWait = 4;

}  // namespace

bool AwaitedCall::is_of_use(std::string_view address) {
  const Result<HostPort> parsed = HostPort::parse(address);
  if (!parsed.ok()) return false;
  const std::string& host = parsed->host;
  const bool is_ipv6 = host.find(':') != host.npos;
  in_addr ignored{};
  return !is_ipv6 && inet_pton(AF_INET, host.c_str(), &ignored) != 1;
}

AwaitedCall::AwaitedCall(Host host, OutgoingRequest request, Way way, Done<Chunks> done)
    : host_(host),
      request_(std::move(request)),
      way_(std::move(way)),
      begin_(host.clock.now()),
      done_(std::move(done)) {}

void AwaitedCall::start(Host host, OutgoingRequest request, Way way, Done<Chunks> done) {
  const std::shared_ptr<AwaitedCall> call(
      new AwaitedCall(host, std::move(request), std::move(way), std::move(done)));
  // Before the first try: what ends that lets go of it.
  if (Cancellation* const cancellation = call->request_.cancellation)
    call->registration_ =
        cancellation->on_cancel([call = call.get()](const Status& why) { call->cancel_try(why); });
  call->start_try();
  call->look_later();
}

void AwaitedCall::start_try() {
  const auto cancellation = std::make_shared<Cancellation>();
  {
    MutexLock lock(mutex_);
    try_ = cancellation;
  }
  // Who has cancelled the call meanwhile did not find this one.
  const Cancellation* const outer = request_.cancellation;
  if (outer != nullptr && outer->cancelled()) cancellation->cancel(outer->reason());
  OutgoingRequest request = request_;
  request.cancellation = cancellation.get();
  was_sent_ = false;
  way_.start(std::move(request), &was_sent_,
             Done<Chunks>([self = shared_from_this(), cancellation](Result<Chunks> answer) {
               self->on_end(std::move(answer));
             }));
}

void AwaitedCall::cancel_try(Status why) {
  std::shared_ptr<Cancellation> current;
  {
    MutexLock lock(mutex_);
    is_beginning_anew_ = false;
    current = try_;
  }
  if (current != nullptr) current->cancel(std::move(why));
}

void AwaitedCall::on_end(Result<Chunks> answer) {
  Done<Chunks> done;
  Timers::Timer timer;
  {
    MutexLock lock(mutex_);
    if (!std::exchange(is_beginning_anew_, false) || answer.ok() || was_sent_) {
      done = std::move(done_);
      timer = std::move(timer_);
    }
  }
  if (!done) return start_try();
  timer.cancel();
  registration_.release();
  // The try may have been cancelled before, to begin anew.
  const Cancellation* const outer = request_.cancellation;
  if (!answer.ok() && outer != nullptr && outer->cancelled())
    return done(outer->reason().as_consequence());
  done(std::move(answer));
}

void AwaitedCall::look_later() {
  MutexLock lock(mutex_);
  if (!done_) return;
  const Clock::Time now = host_.clock.now();
  const Clock::Duration pause = std::clamp((now - begin_) / kPartOfWait, kShortest, kLongest);
  // One that this replaces is the one that calls.
  timer_ = host_.timers.at(now + pause, [self = shared_from_this()] { self->look(); });
}

void AwaitedCall::look() {
  std::shared_ptr<Cancellation> failing;
  {
    MutexLock lock(mutex_);
    if (!done_) return;
    if (!is_beginning_anew_ && way_.renew_if_failing()) {
      is_beginning_anew_ = true;
      failing = try_;
    }
  }
  // In these words it ends if it can't be begun anew.
  if (failing != nullptr)
    failing->cancel(unavailable(request_.peer->to_string(), ": the connection broke under ",
                                request_.method, "; the task has probably ended"));
  look_later();
}

}  // namespace millrace::transport
