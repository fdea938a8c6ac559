// PrivateLine: a connection for callers that wait for their answer, one at a time. The caller reads
// the socket itself, so that nobody has to be woken but the other side. An AttentiveThread looks up
// meanwhile.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/lookout.h"
#include "millrace/transport/direct/inbox.h"
#include "millrace/transport/direct/numeric_address.h"
#include "millrace/transport/direct/outbox.h"
#include "millrace/transport/protocol/oversight.h"
#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace::transport {

struct CallTerms;
class WaitedCall;

class PrivateLine {
 public:
  // Null if there is no connection, or no greeting of the other side, within `patience`.
  static std::unique_ptr<PrivateLine> connect(const NumericAddress& address,
                                              std::chrono::milliseconds patience,
                                              std::shared_ptr<Intake> intake);

  // False if the other side has hung up since the last call.
  bool is_alive() const;
  // True after a call without an answer.
  bool is_useless() const { return is_useless_; }
  // Blocks until the answer is here.
  Result<ReceivedBytes> call(OutgoingRequest request, const Oversight& oversight,
                             const Clock& clock);

 private:
  friend class WaitedCall;
  PrivateLine(FileDescriptor socket, std::shared_ptr<Intake> intake);

  Status write(const CallTerms& terms, const Clock& clock);
  Result<DirectMessage> read_message(WaitedCall& call, const Clock& clock);
  ssize_t read();
  bool set_time_limit(const CallTerms& terms, const Clock& clock);
  Status look_up(int number, const CallTerms& terms, const Clock& clock);

  const FileDescriptor socket_;
  Inbox inbox_;
  Outbox outbox_;
  std::vector<DirectMessage> messages_;
  uint32_t num_calls_ = 0;
  std::chrono::microseconds time_limit_{0};  // of a wait in the socket; 0: none
  Lookout lookout_;
  bool is_useless_ = false;
};

}  // namespace millrace::transport
