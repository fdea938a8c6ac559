#include "millrace/transport/grpc/master_channel.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/transport/grpc/channel.h"

namespace millrace {
namespace {

constexpr std::string_view kScheme = "grpc://";

}  // namespace

Result<std::unique_ptr<GrpcMasterChannel>> GrpcMasterChannel::create(std::string_view target,
                                                                     const GrpcThreads& threads,
                                                                     const Host& host,
                                                                     PeerPatience patience) {
  if (!target.starts_with(kScheme))
    return invalid("the target '", target, "' has not the form grpc://host:port");
  MR_ASSIGN(
      const HostPort address,
      HostPort::parse(target.substr(kScheme.size())).with(str_cat("the target '", target, "'")));
  if (address.port == 0)
    return invalid("the target '", target, "' names port 0, where nobody listens");
  return std::unique_ptr<GrpcMasterChannel>(
      new GrpcMasterChannel(address.to_string(), threads,
                            std::make_shared<transport::Rounds>(host, patience.limit), host));
}

GrpcMasterChannel::GrpcMasterChannel(const std::string& address, const GrpcThreads& threads,
                                     std::shared_ptr<transport::Rounds> rounds, const Host& host)
    : RemoteMaster(address,
                   transport::Channel::create(address, threads.queue(), {}, rounds, host.metrics,
                                              transport::Lines::to_a_peer(host, threads.direct()))),
      rounds_(std::move(rounds)) {}
GrpcMasterChannel::~GrpcMasterChannel() { rounds_->stop(); }

}  // namespace millrace
