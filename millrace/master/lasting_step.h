// LastingStep: what is asked of a session that lasts (lasting_session.h), made in the life that
// there is, and again in the next one if a task was lost meanwhile.
//
//   make_lasting<RunStepReply>(session, Again::yes, call, std::move(done),
//                              [=](const LastingSession::Life& life, const Call& call,
//                                  Done<RunStepReply> done) { … });
//
// The last argument is kept and called as often as it is made. Any thread.
#pragma once

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "millrace/master/lasting_session.h"

namespace millrace {

enum class Again : uint8_t {
  no,     // it changes state, and who has it made twice changes it twice
  yes,    // it may be made any number of times
  takes,  // likewise; what it borrowed when it failed is to go back first
};

template <class Reply>
class LastingStep final : public std::enable_shared_from_this<LastingStep<Reply>> {
 public:
  using Make = absl::AnyInvocable<void(const LastingSession::Life&, const Call&, Done<Reply>)>;

  LastingStep(std::shared_ptr<LastingSession> session, Again again, const Call& call,
              Done<Reply> done, Make make)
      : session_(std::move(session)),
        again_(again),
        call_(call),
        done_(std::move(done)),
        make_(std::move(make)) {}

  void start() {
    session_->life(call_, Done<LastingSession::Life>(
                              [self = this->shared_from_this()](Result<LastingSession::Life> life) {
                                if (!life.ok()) return self->done_(life.status());
                                self->make_in(*life);
                              }));
  }

 private:
  // Tasks that die as soon as they are there are not waited for without end.
  static constexpr int kMostTimes = 20;

  void make_in(const LastingSession::Life& life) {
    make_(life, call_,
          Done<Reply>([self = this->shared_from_this(), number = life.number](Result<Reply> reply) {
            self->made(number, std::move(reply));
          }));
  }

  void made(uint64_t life, Result<Reply> reply) {
    if (reply.ok() || !may_be_a_loss(reply.status()) || ++times_ >= kMostTimes)
      return done_(std::move(reply));
    if (again_ == Again::no) {
      // Those that come after it find the next life.
      session_->failed(life, reply.status(), LastingSession::Earlier::keep, {},
                       Done<void>([](const Status&) {}));
      return done_(std::move(reply));
    }
    // From now on it goes on where others have got it.
    const Call call{.cancellation = call_.cancellation, .deadline = call_.deadline};
    session_->failed(
        life, reply.status(),
        again_ == Again::takes ? LastingSession::Earlier::close : LastingSession::Earlier::keep,
        call, Done<void>([self = this->shared_from_this()](Status goes_on) {
          if (!goes_on.ok()) return self->done_(std::move(goes_on));
          self->call_.runner = nullptr;
          self->call_.waiting = false;
          self->start();
        }));
  }

  bool may_be_a_loss(const Status& status) const {
    if (call_.cancellation != nullptr && call_.cancellation->cancelled()) return false;
    const Code code = status.code();
    return code == Code::unavailable || code == Code::aborted || code == Code::internal ||
           code == Code::cancelled;
  }

  const std::shared_ptr<LastingSession> session_;
  const Again again_;
  Call call_;
  Done<Reply> done_;
  Make make_;
  int times_ = 0;
};

template <class Reply>
void make_lasting(std::shared_ptr<LastingSession> session, Again again, const Call& call,
                  Done<Reply> done, typename LastingStep<Reply>::Make make) {
  std::make_shared<LastingStep<Reply>>(std::move(session), again, call, std::move(done),
                                       std::move(make))
      ->start();
}

}  // namespace millrace
