#include "millrace/transport/grpc/standby_channel.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/transport/grpc/channel.h"

namespace millrace {

Result<std::unique_ptr<GrpcStandbyChannel>> GrpcStandbyChannel::create(
    std::string_view address, const GrpcThreads& threads, const Host& host,
    const PeerPatience& patience) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(address));
  if (parsed.port == 0)
    return invalid("a task is said to be at ", address, ", but nobody listens on port 0");
  return std::unique_ptr<GrpcStandbyChannel>(new GrpcStandbyChannel(
      parsed.to_string(), threads, std::make_shared<transport::Rounds>(host, patience.limit),
      host.metrics));
}

GrpcStandbyChannel::GrpcStandbyChannel(const std::string& address, const GrpcThreads& threads,
                                       std::shared_ptr<transport::Rounds> rounds, Metrics& metrics)
    : RemoteStandby(address,
                    transport::Channel::create(address, threads.queue(), {}, rounds, metrics)),
      rounds_(std::move(rounds)) {}
GrpcStandbyChannel::~GrpcStandbyChannel() { rounds_->stop(); }

}  // namespace millrace
