// How a method of a service becomes a handler. Private to this room.
#pragma once

#include <memory>
#include <utility>

#include "millrace/cluster/services.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/received_call.h"

namespace millrace::transport {

// Reads the request of `call`. On error the call is answered and false returned.
template <class Request, class... Context>
bool read_request(ReceivedCall& call, Request& request, const Context&... context) {
  Status status = decode(call.request(), context..., request);
  call.drop_request();
  if (status.ok()) return true;
  call.answer(status.with(short_name(call.method())));
  return false;
}

// Answers with what a service said.
template <class Reply>
Done<Reply> answer_to(std::shared_ptr<ReceivedCall> call) {
  return Done<Reply>([call = std::move(call)](Result<Reply> reply) {
    call->answer(reply.ok() ? encode(*reply) : Result<wire::Pieces>(std::move(reply).status()));
  });
}
template <>
inline Done<void> answer_to<void>(std::shared_ptr<ReceivedCall> call) {
  return Done<void>([call = std::move(call)](Status status) {
    call->answer(status.ok() ? Result<wire::Pieces>(wire::Pieces()) : std::move(status));
  });
}

// decode(), the service's method, encode().
template <class Service, class Request, class Reply>
Handler serve(Service& service, void (Service::*method)(Request, Call, Done<Reply>)) {
  return [&service, method](std::shared_ptr<ReceivedCall> call) {
    Request request;
    if (!read_request(*call, request)) return;
    const Call context = call->call();
    (service.*method)(std::move(request), context, answer_to<Reply>(std::move(call)));
  };
}

}  // namespace millrace::transport
