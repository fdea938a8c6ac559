// Caller: how one address is called, whatever carries the bytes. What a transport implements for
// calls that go out; remote_worker.h and remote_master.h put the services' methods on top of it.
//
// A call is a message there and a message back, or several back where the caller knows to expect
// them. It ends with an answer, with an error that names the peer (connection_error.h), or with the
// reason of its cancellation, as a consequence. Any thread may call. Shared by all who call that
// address.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "absl/functional/any_invocable.h"

#include "millrace/base/attentive_thread.h"
#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/cluster/services.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"
#include "millrace/transport/protocol/connection_error.h"

namespace millrace::transport {

// What a call says and how it is made. The method's text must be a constant.
struct OutgoingRequest {
  std::shared_ptr<const Peer> peer;
  std::string_view method;
  wire::Pieces message;
  WhenDown when_down = WhenDown::fail;
  Cancellation* cancellation = nullptr;
  std::optional<Clock::Time> deadline = std::nullopt;
  // Its caller waits for it anyway and lends its thread (Call::waiting).
  bool is_waited_for = false;
  // That thread, if it has to look up while it waits.
  AttentiveThread* attentive = nullptr;
};

enum class More : uint8_t { no, expected };
// Gets each message in turn. An error says that the answer is bad; it ends the call.
using ReadMessage = absl::AnyInvocable<Result<More>(const Chunks& message)>;

class Caller {
 public:
  virtual ~Caller() = default;
  // Calls `done` once, maybe inside this call, with bytes that are there until it returns. A
  // request that is waited for may be answered on the caller's thread, before this returns.
  virtual void start(OutgoingRequest request, Done<Chunks> done) = 0;
  // The same for an answer of one or more messages.
  virtual void start_streamed(OutgoingRequest request, ReadMessage read, Done<void> done) = 0;
};

}  // namespace millrace::transport
