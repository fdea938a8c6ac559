#include "tests/simulation/channel.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/serving.h"

#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/promises.h"

namespace millrace::simulation {
namespace {

using transport::CallFailure;
using transport::Chunks;
using transport::More;
using transport::OutgoingRequest;

// A gRPC message has five bytes before it.
constexpr size_t kPrefix = 5;
constexpr std::chrono::milliseconds kFirstBackoff{100}, kMaxBackoff{1000};

size_t size_of(const std::string& message) { return kPrefix + message.size(); }

// Hands over one after the other, as they would have come. Errors: those of `read`; that there are
// not as many as it expects.
Status read_all(const std::vector<std::string>& messages, transport::ReadMessage& read) {
  for (const std::string& message : messages) {
    MR_ASSIGN(const More more, read(Chunks(message)));
    if (more == More::no) return {};
  }
  return internal("it ends too early");
}

}  // namespace

size_t WireAnswer::size() const {
  size_t size = kPrefix + status.message.size() + status.details.size();
  for (const std::string& message : messages) size += size_of(message);
  return size;
}

Channel::~Channel() { abandon(); }

void Channel::start(OutgoingRequest request, Done<Chunks> done) {
  begin(std::move(request),
        Done<Messages>([done = std::move(done)](Result<Messages> answer) mutable {
          if (!answer.ok()) return done(std::move(answer).status());
          done(Chunks(answer->at(0)));
        }));
}

void Channel::start_streamed(OutgoingRequest request, transport::ReadMessage read,
                             Done<void> done) {
  auto finish = [peer = request.peer, method = request.method, read = std::move(read),
                 done = std::move(done)](Result<Messages> answer) mutable {
    if (!answer.ok()) return done(std::move(answer).status());
    const Status problem = read_all(*answer, read);
    done(problem.ok() ? problem : explain_bad_answer(*peer, method, problem));
  };
  begin(std::move(request), Done<Messages>(std::move(finish)));
}

void Channel::begin(OutgoingRequest request, Done<Messages> done) {
  auto call = std::make_shared<Asking>();
  call->message = request.message.join();
  call->request = std::move(request);
  call->done = std::move(done);
  if (Status no = refusal(call->request); !no.ok()) return call->done(std::move(no));
  add(call);
}

Status Channel::refusal(const OutgoingRequest& request) const {
  if (process_.is_dead())
    return unavailable("the process at ", process_.site(), " is gone").as_consequence();
  if (request.cancellation != nullptr && request.cancellation->cancelled())
    return request.cancellation->reason().as_consequence();
  if (is_silent_ && request.when_down == WhenDown::fail)
    return explain_silence(*request.peer, request.method, kSilenceLimit);
  return {};
}

void Channel::add(const Call& call) {
  call->number = ++last_number_;
  calls_.insert(call);
  const std::weak_ptr<Channel> weak = weak_from_this();
  if (call->request.cancellation != nullptr) {
    call->registration = call->request.cancellation->on_cancel([weak, call](const Status& why) {
      if (auto self = weak.lock()) self->give_up(call, why.as_consequence());
    });
  }
  if (call->request.deadline) {
    call->deadline = process_.host().timers.at(*call->request.deadline, [weak, call] {
      const Status late(Code::deadline_exceeded, "Deadline Exceeded");
      if (auto self = weak.lock())
        self->give_up(call, explain_failure(*call->request.peer, call->request.method,
                                            {late, CallFailure::Origin::connection}));
    });
  }
  if (call->is_over) return;
  look_later();
  switch (state_) {
    case State::ready:
      return send(call);
    case State::idle:
      return connect();
    case State::failed:
      if (call->request.when_down == WhenDown::fail) finish(call, explain(*call, symptom_));
      return;
    case State::connecting:
      return;
  }
}

void Channel::connect() {
  state_ = State::connecting;
  process_.network().connect(
      process_.site(), address_,
      [weak = weak_from_this()](std::shared_ptr<Connection> made, std::string_view symptom) {
        auto self = weak.lock();
        if (self && !self->process_.is_dead()) return self->connected(std::move(made), symptom);
        if (made) made->close(Side::caller);
      });
}

void Channel::connected(std::shared_ptr<Connection> connection, std::string_view symptom) {
  const std::vector<Call> waiting(calls_.begin(), calls_.end());
  if (connection) {
    state_ = State::ready;
    failures_ = 0;
    connection_ = std::move(connection);
    connection_->on_closed(Side::caller, [weak = weak_from_this()](std::string_view symptom) {
      if (auto self = weak.lock()) self->closed(symptom);
    });
    for (const Call& call : waiting)
      if (!call->is_over) send(call);
    return;
  }
  state_ = State::failed;
  symptom_ = symptom;
  heard_ = true;
  const auto pause = std::min(kMaxBackoff, kFirstBackoff * (1 << std::min(failures_++, 4)));
  retry_ = process_.host().timers.at(process_.now() + pause, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    self->state_ = State::idle;
    if (!self->calls_.empty()) self->connect();
  });
  for (const Call& call : waiting)
    if (call->request.when_down == WhenDown::fail) finish(call, explain(*call, symptom_));
}

void Channel::send(const Call& call) {
  call->is_sent = true;
  const size_t bytes = size_of(call->message);
  connection_->send(Side::caller, bytes,
                    [weak = weak_from_this(), call, connection = std::weak_ptr(connection_),
                     message = call->message, deadline = call->request.deadline] {
                      const auto held = connection.lock();
                      const auto serving = held ? held->taken_by().lock() : nullptr;
                      if (!serving) return;
                      auto answer = [weak, call](WireAnswer answer) {
                        if (auto self = weak.lock()) self->arrived(call, std::move(answer));
                      };
                      call->there =
                          serving->take(held, call->request.method, message, deadline, answer);
                    });
}

void Channel::closed(std::string_view symptom) {
  connection_ = nullptr;
  state_ = State::idle;
  heard_ = true;
  const std::vector<Call> all(calls_.begin(), calls_.end());
  for (const Call& call : all)
    if (call->is_sent) finish(call, explain(*call, symptom));
  if (!calls_.empty() && state_ == State::idle) connect();
}

void Channel::arrived(const Call& call, WireAnswer answer) {
  heard_ = true;
  is_silent_ = false;
  if (call->is_over) return;
  if (answer.status.code == 0) {
    if (transport::carries_promises(call->request.method)) promises_ = true;
    return finish(call, std::move(answer.messages));
  }
  const CallFailure failure{from_wire_status(answer.status), CallFailure::Origin::peer};
  finish(call, explain_failure(*call->request.peer, call->request.method, failure));
}

void Channel::give_up(const Call& call, Status why) {
  if (call->is_over) return;
  if (call->is_sent && connection_) {
    connection_->send(Side::caller, 0, [call] {
      if (auto there = call->there.lock()) there->dropped();
    });
  }
  finish(call, std::move(why));
}

void Channel::finish(const Call& call, Result<Messages> outcome) {
  if (std::exchange(call->is_over, true)) return;
  calls_.erase(call);
  // Never inside the caller's cancellation, which may go with the answer.
  process_.actor().post([call, outcome = std::move(outcome)]() mutable {
    call->registration.release();
    call->deadline.cancel();
    call->done(std::move(outcome));
  });
}

Status Channel::explain(const Asking& call, std::string_view symptom) const {
  return explain_failure(*call.request.peer, call.request.method,
                         {unavailable(symptom), CallFailure::Origin::connection});
}

void Channel::abandon() {
  const std::vector<Call> all(calls_.begin(), calls_.end());
  for (const Call& call : all)
    finish(call, unavailable("the process at ", process_.site(), " ended").as_consequence());
  round_.cancel();
  retry_.cancel();
  if (connection_) std::exchange(connection_, nullptr)->close(Side::caller);
  state_ = State::idle;
}

// ---- The pulse
// -----------------------------------------------------------------------------------

bool Channel::has_waiting_calls() const {
  return std::ranges::any_of(calls_, [this](const Call& call) { return is_judged(*call); });
}

void Channel::look_later() {
  if (is_looking_ || process_.is_dead()) return;
  is_looking_ = true;
  round_ = process_.host().timers.at(process_.now() + transport::Silence::pause(kSilenceLimit),
                                     [weak = weak_from_this()] {
                                       if (auto self = weak.lock()) self->look();
                                     });
}

void Channel::look() {
  using transport::Silence;
  is_looking_ = false;
  const bool heard = std::exchange(heard_, false);
  const bool waits = has_waiting_calls();
  if ((!waits && !is_silent_) || !promises_) {
    silence_.reset();
    if (waits) look_later();
    return;
  }
  const auto action = silence_.on_round(heard ? Silence::Sign::heard : Silence::Sign::none);
  if (action == Silence::Action::ask) ask();
  if (action == Silence::Action::give_up) {
    is_silent_ = true;
    const std::vector<Call> all(calls_.begin(), calls_.end());
    for (const Call& call : all)
      if (is_judged(*call))
        give_up(call, explain_silence(*call->request.peer, call->request.method, kSilenceLimit));
  }
  if (has_waiting_calls()) look_later();
}

void Channel::ask() {
  auto question = std::make_shared<Asking>();
  question->request = {
      .peer = std::make_shared<const transport::Peer>(transport::Peer{"the task", address_}),
      .method = transport::worker_method::kGetStatus};
  question->is_question = true;
  // An error counts, too: if the connection broke, what comes next tells more than the silence did.
  question->done = Done<Messages>([weak = weak_from_this()](const Result<Messages>&) {
    auto self = weak.lock();
    if (!self) return;
    self->heard_ = true;
    self->is_silent_ = false;
  });
  add(question);
}

}  // namespace millrace::simulation
