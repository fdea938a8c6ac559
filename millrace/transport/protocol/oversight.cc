#include "millrace/transport/protocol/oversight.h"

#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {

Status check_request(const OutgoingRequest& request, const Oversight& oversight) {
  if (request.cancellation != nullptr && request.cancellation->cancelled())
    return request.cancellation->reason().as_consequence();
  if (request.message.size() > kMaxMessageBytes) {
    return invalid("the message of ", short_name(request.method), " has ", request.message.size(),
                   " bytes; a message has at most ", kMaxMessageBytes,
                   ": feed or fetch large tensors in parts");
  }
  const bool is_refused =
      oversight.pulse->is_silent() && request.when_down == WhenDown::fail && !oversight.is_question;
  if (is_refused) return explain_silence(*request.peer, request.method, oversight.pulse->limit());
  return {};
}

}  // namespace millrace::transport
