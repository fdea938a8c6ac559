// One question to a service elsewhere: call, decode, answer. Private to this room.
#pragma once

#include <memory>
#include <utility>

#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/grpc/message.h"

namespace millrace::transport {

// Calls as `call` says: on the caller's thread if it waits anyway. `read` makes the outcome of the
// bytes of the answer.
template <class Reply, class Read>
void ask(Channel& channel, OutgoingRequest request, const Call& call, Read read, Done<Reply> done) {
  request.cancellation = call.cancellation;
  request.deadline = call.deadline;
  auto finish = [read = std::move(read),
                 done = std::move(done)](Result<ByteBuffer> answer) mutable {
    if (!answer.ok()) return done(std::move(answer).status());
    done(read(to_chunks(**answer)));
  };
  if (call.waiting) return finish(channel.wait_for(std::move(request)));
  channel.start_unary(std::move(request), Done<ByteBuffer>(std::move(finish)));
}

// As above for a reply that decode() reads.
template <class Reply>
void ask(Channel& channel, OutgoingRequest request, const Call& call, Done<Reply> done) {
  auto read = [peer = request.peer,
               method = request.method](const Chunks& answer) -> Result<Reply> {
    Reply reply;
    const Status status = decode(answer, reply);
    if (!status.ok()) return explain_bad_answer(*peer, method, status);
    return reply;
  };
  ask(channel, std::move(request), call, std::move(read), std::move(done));
}

// As above for an answer that says nothing but that it is one.
inline void ask(Channel& channel, OutgoingRequest request, const Call& call, Done<void> done) {
  ask(
      channel, std::move(request), call, [](const Chunks&) { return Status(); }, std::move(done));
}

}  // namespace millrace::transport
