// Remote: a service elsewhere, as one asks it: encode, call, decode. Private to this room.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "millrace/transport/protocol/caller.h"

namespace millrace::transport {

class Remote {
 public:
  Remote(Peer peer, std::shared_ptr<Caller> caller)
      : peer_(std::make_shared<const Peer>(std::move(peer))), caller_(std::move(caller)) {}

  const std::shared_ptr<const Peer>& peer() const { return peer_; }
  const std::shared_ptr<Caller>& caller() const { return caller_; }

  // Calls as `call` says. `message` may be an error, which is the answer then; `read` makes the
  // outcome of the bytes that come back.
  template <class Reply, class Read>
  void ask(std::string_view method, WhenDown when_down, Result<wire::Pieces> message,
           const Call& call, Read read, Done<Reply> done) const {
    if (!message.ok()) return done(std::move(message).status());
    caller_->start({.peer = peer_,
                    .method = method,
                    .message = std::move(message).value(),
                    .when_down = when_down,
                    .cancellation = call.cancellation,
                    .deadline = call.deadline,
                    .is_waited_for = call.waiting,
                    .attentive = call.waiting ? AttentiveThread::of(call.runner) : nullptr},
                   Done<Chunks>([read = std::move(read),
                                 done = std::move(done)](Result<Chunks> answer) mutable {
                     if (!answer.ok()) return done(std::move(answer).status());
                     done(read(*answer));
                   }));
  }

  // As above for a reply that decode() reads.
  template <class Reply>
  void ask(std::string_view method, WhenDown when_down, Result<wire::Pieces> message,
           const Call& call, Done<Reply> done) const {
    auto read = [peer = peer_, method](const Chunks& answer) -> Result<Reply> {
      Reply reply;
      const Status status = decode(answer, reply);
      if (!status.ok()) return explain_bad_answer(*peer, method, status);
      return reply;
    };
    ask<Reply>(method, when_down, std::move(message), call, std::move(read), std::move(done));
  }

  // As above for an answer that says nothing but that it is one.
  void ask(std::string_view method, WhenDown when_down, Result<wire::Pieces> message,
           const Call& call, Done<void> done) const {
    auto read = [](const Chunks&) { return Status(); };
    ask<void>(method, when_down, std::move(message), call, read, std::move(done));
  }

 private:
  const std::shared_ptr<const Peer> peer_;
  const std::shared_ptr<Caller> caller_;
};

}  // namespace millrace::transport
