// GrpcStandbyChannel: the witness or the other side of a state that two tasks hold, for who asks
// it.
//
// Connects with the first call. Who hears that the task can't be reached makes another one, which
// tries at once. Any thread may call. Calls that run when the channel goes are finished and
// answered.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/base/host.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/protocol/remote_standby.h"
#include "millrace/transport/transport.h"

namespace millrace {

namespace transport {
class Rounds;
}  // namespace transport

class GrpcStandbyChannel final : public transport::RemoteStandby {
 public:
  // `host` outlives the calls. Errors: INVALID_ARGUMENT for an address that is not host:port, or
  // has port 0.
  static Result<std::unique_ptr<GrpcStandbyChannel>> create(std::string_view address,
                                                            const GrpcThreads& threads,
                                                            const Host& host,
                                                            const PeerPatience& patience);
  ~GrpcStandbyChannel() override;

 private:
  GrpcStandbyChannel(const std::string& address, const GrpcThreads& threads,
                     std::shared_ptr<transport::Rounds> rounds, Metrics& metrics);

  const std::shared_ptr<transport::Rounds> rounds_;
};

}  // namespace millrace
