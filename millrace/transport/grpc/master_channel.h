// GrpcMasterChannel: the master of a task elsewhere, for a client.
//
// Connects with the first call. With Call::waiting a call is made on the caller's own thread and is
// answered before it returns. A master that falls silent while it owes an answer is given up
// (transport.h). What waits for a task that is not there and what fails: remote_master.h.
//
// Any thread may call. Calls that run when the channel goes are finished and answered.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/base/host.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/protocol/remote_master.h"
#include "millrace/transport/transport.h"

namespace millrace {

namespace transport {
class Rounds;
}  // namespace transport

class GrpcMasterChannel final : public transport::RemoteMaster {
 public:
  // `target` is "grpc://host:port". `host` outlives the calls. Errors: INVALID_ARGUMENT for another
  // form.
  static Result<std::unique_ptr<GrpcMasterChannel>> create(std::string_view target,
                                                           const GrpcThreads& threads,
                                                           const Host& host,
                                                           PeerPatience patience = {});
  ~GrpcMasterChannel() override;

 private:
  GrpcMasterChannel(const std::string& address, const GrpcThreads& threads,
                    std::shared_ptr<transport::Rounds> rounds, const Host& host);

  const std::shared_ptr<transport::Rounds> rounds_;
};

}  // namespace millrace
