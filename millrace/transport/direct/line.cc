#include "millrace/transport/direct/line.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/result.h"
#include "millrace/base/timers.h"
#include "millrace/transport/direct/call_terms.h"
#include "millrace/transport/protocol/work.h"
#include "millrace/transport/sockets/socket_options.h"

namespace millrace::transport {

// One call. What comes of it, messages and an end, is told on the poller's threads, one after the
// other.
class LineCall final : public Event,
                       public Overseen,
                       public std::enable_shared_from_this<LineCall> {
 public:
  LineCall(std::shared_ptr<Line> line, uint32_t number, CallTerms terms, Line::Answer answer)
      : Event(work_of_answer(terms.method)),
        line_(std::move(line)),
        number_(number),
        terms_(std::move(terms)),
        answer_(std::move(answer)) {}

  // From now on its peer's silence, its cancellation and its deadline end it. They do nothing as
  // long as the line does not know it.
  void watch(const Host& host) {
    if (terms_.is_overseen()) terms_.pulse->enter(*this);
    if (terms_.cancellation != nullptr) {
      registration_ = terms_.cancellation->on_cancel(
          [this](const Status& why) { line_->abandon(number_, why.as_consequence()); });
    }
    if (terms_.deadline) {
      timer_ =
          host.timers.at(*terms_.deadline, [this] { line_->abandon(number_, terms_.too_late()); });
    }
  }
  void unwatch() {
    if (terms_.is_overseen()) terms_.pulse->leave(*this);
    registration_.release();
    timer_.cancel();
  }

  const CallTerms& terms() const { return terms_; }
  Line::Answer& answer() { return answer_; }
  const Peer& peer() const override { return *terms_.peer; }
  void give_up(Clock::Duration silence) override {
    line_->abandon(number_, explain_silence(peer(), terms_.method, silence));
  }

  // Any thread. An event that is to happen, if none is on its way.
  Event* came(DirectMessage message) { return queue(std::move(message)); }
  Event* ends(Status why) { return queue(std::move(why)); }

  // On the thread on which it happens, or before anything can.
  void end(const Status& outcome) {
    if (answer_.done) {
      unwatch();
      std::exchange(answer_.done, {})(outcome);
    } else if (answer_.finish) {
      unwatch();
      std::exchange(answer_.finish, {})(outcome);
    }
  }

  void happened(bool) override {
    const auto self = std::move(self_);
    for (Arrivals arrivals = take(); !arrivals.empty(); arrivals = take()) {
      for (Arrival& next : arrivals) {
        if (auto* message = std::get_if<DirectMessage>(&next)) {
          handle(std::move(*message));
        } else {
          end(std::get<Status>(next));
        }
      }
    }
  }

 private:
  using Arrival = std::variant<DirectMessage, Status>;
  using Arrivals = absl::InlinedVector<Arrival, 1>;

  Event* queue(Arrival arrival) {
    MutexLock lock(mutex_);
    arrivals_.push_back(std::move(arrival));
    if (std::exchange(is_on_its_way_, true)) return nullptr;
    self_ = shared_from_this();
    return this;
  }
  // Nothing: whatever comes from now on needs another event.
  Arrivals take() {
    MutexLock lock(mutex_);
    if (arrivals_.empty()) is_on_its_way_ = false;
    return std::exchange(arrivals_, {});
  }

  void handle(DirectMessage message) {
    if (message.kind == FrameKind::error) return end(terms_.told(message.error));
    terms_.pulse->heard();
    terms_.count_answer(message.bytes.filled());
    if (!message.refusal.ok()) return stop(terms_.bad_answer(message.refusal));
    if (answer_.done) return answer_once(message.bytes.chunks(), message.more);
    if (!answer_.finish) return;  // it has ended
    Result<More> more = answer_.read(message.bytes.chunks());
    if (!more.ok()) return stop(terms_.bad_answer(more.status()));
    has_answer_ = *more == More::no;
    if (message.more) return;
    end(has_answer_ ? Status() : terms_.bad_answer(internal("it ends too early")));
  }

  void answer_once(const Chunks& message, bool more) {
    if (more) return stop(terms_.bad_answer(internal("it has several messages")));
    unwatch();
    std::exchange(answer_.done, {})(message);
  }

  // We have heard enough, whatever the other side is going to say.
  void stop(const Status& why) {
    line_->abandon(number_, why);
    end(why);
  }

  const std::shared_ptr<Line> line_;
  const uint32_t number_;
  const CallTerms terms_;
  // Of the thread on which it happens.
  Line::Answer answer_;
  bool has_answer_ = false;
  Cancellation::Registration registration_;
  Timers::Timer timer_;

  Mutex mutex_;
  Arrivals arrivals_ MR_GUARDED_BY(mutex_);
  bool is_on_its_way_ MR_GUARDED_BY(mutex_) = false;
  std::shared_ptr<LineCall> self_;  // while it is on its way
};

Line::Line(FileDescriptor socket, std::shared_ptr<Poller> poller, std::shared_ptr<Intake> intake)
    : Connection(std::move(socket), Greeting::expected, std::move(intake)),
      poller_(std::move(poller)) {}
Line::~Line() = default;

Line::Beginning Line::begin(uint32_t number, const std::shared_ptr<LineCall>& call, Clock::Time now,
                            wire::Pieces& message) {
  const CallTerms& terms = call->terms();
  MutexLock lock(calls_mutex_);
  if (!is_up()) return Beginning::refused;
  if (terms.cancellation != nullptr && terms.cancellation->cancelled()) return Beginning::too_late;
  if (terms.deadline && *terms.deadline <= now) return Beginning::too_late;
  if (!calls_.emplace(number, call).second) return Beginning::refused;
  // Known and put under one lock: whoever abandons the call says so behind it.
  put(request_frame(number, terms.method, terms.micros_left(now), std::move(message)));
  return Beginning::begun;
}

bool Line::start(const Host& host, OutgoingRequest& request, const Oversight& oversight,
                 Answer& answer) {
  if (!is_up()) return false;
  const uint32_t number = num_calls_.fetch_add(1) + 1;
  const auto call =
      std::make_shared<LineCall>(std::static_pointer_cast<Line>(shared_from_this()), number,
                                 CallTerms::of(request, oversight), std::move(answer));
  call->watch(host);
  const size_t size = request.message.size();
  switch (begin(number, call, host.clock.now(), request.message)) {
    case Beginning::begun:
      call->terms().count_request(size);
      flush();
      return true;
    case Beginning::too_late:
      call->end(call->terms().why_too_late());
      return true;
    case Beginning::refused:
      break;
  }
  call->unwatch();
  answer = std::move(call->answer());
  return false;
}

void Line::retire() {
  MutexLock lock(calls_mutex_);
  if (has_ended()) return;
  state_.store(State::retired);
  if (is_done()) hang_up();
}

bool Line::is_done() const { return state_.load() == State::retired && calls_.empty(); }

std::shared_ptr<LineCall> Line::find(uint32_t number) {
  MutexLock lock(calls_mutex_);
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second;
}

std::shared_ptr<LineCall> Line::take(uint32_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return nullptr;
  std::shared_ptr<LineCall> call = std::move(found->second);
  calls_.erase(found);
  return call;
}

std::shared_ptr<LineCall> Line::take_answered(uint32_t number) {
  MutexLock lock(calls_mutex_);
  std::shared_ptr<LineCall> call = take(number);
  if (is_done()) hang_up();
  return call;
}

void Line::abandon(uint32_t number, const Status& why) {
  std::shared_ptr<LineCall> call;
  {
    MutexLock lock(calls_mutex_);
    call = take(number);
    if (call == nullptr) return;
    put(bare_frame(FrameKind::cancel, number));
  }
  flush();
  {
    MutexLock lock(calls_mutex_);
    if (is_done()) hang_up();
  }
  if (Event* const event = call->ends(why)) poller_->post(event);
}

void Line::greeted() {
  tune_connection(descriptor());
  MutexLock lock(calls_mutex_);
  if (state_.load() == State::connecting) state_.store(State::up, std::memory_order_release);
}

Status Line::received(DirectMessage message, Events& events) {
  switch (message.kind) {
    case FrameKind::answer:
    case FrameKind::error: {
      const auto call = message.more ? find(message.call) : take_answered(message.call);
      // Who abandoned a call may still be answered.
      if (call == nullptr) return {};
      if (Event* const event = call->came(std::move(message))) events.push_back(event);
      return {};
    }
    case FrameKind::ask:
      send(bare_frame(FrameKind::here));
      return {};
    case FrameKind::here:
      return {};
    default:
      return invalid("a server made a call on its caller's connection");
  }
}

void Line::ended(const Status& why, Events& events) {
  std::vector<std::shared_ptr<LineCall>> calls;
  {
    MutexLock lock(calls_mutex_);
    state_.store(State::ended, std::memory_order_release);
    for (auto& [number, call] : calls_) calls.push_back(std::move(call));
    calls_.clear();
  }
  for (const auto& call : calls)
    if (Event* const event = call->ends(call->terms().broke(why))) events.push_back(event);
}

}  // namespace millrace::transport
