#include "millrace/transport/grpc/transport.h"

#include <utility>

#include "millrace/transport/grpc/directory.h"
#include "millrace/transport/grpc/master_channel.h"
#include "millrace/transport/grpc/server.h"
#include "millrace/transport/grpc/standby_channel.h"

namespace millrace {
namespace {

class ServedOverGrpc final : public Serving {
 public:
  ServedOverGrpc(Services services, std::unique_ptr<GrpcServer> server)
      : services_(std::move(services)), server_(std::move(server)) {}

  Status stop(const Status& why, Clock::Duration grace) override {
    return server_->stop(why, grace);
  }

 private:
  const Services services_;
  const std::unique_ptr<GrpcServer> server_;  // ends first: its handlers use the services
};

Host in_the_name_of(const Host& host, const Log* log) {
  return log != nullptr ? host.in_the_name_of(*log) : host;
}

}  // namespace

GrpcTransport::GrpcTransport(const Host& host, bool direct) : host_(host), direct_(direct) {}
GrpcTransport::~GrpcTransport() = default;

GrpcThreads& GrpcTransport::threads() {
  MutexLock lock(mutex_);
  if (!threads_) threads_ = std::make_unique<GrpcThreads>(GrpcThreads::Options{.direct = direct_});
  return *threads_;
}

Runner* GrpcTransport::answers() {
  if (!direct_) return nullptr;
  const auto& poller = threads().direct()->poller();
  MutexLock lock(mutex_);
  if (!reader_) reader_ = std::make_unique<transport::Reader>(poller, host_.pool);
  return reader_.get();
}

uint64_t GrpcTransport::num_direct_messages() {
  return direct_ ? threads().direct()->intake()->num_messages() : 0;
}

Result<std::shared_ptr<MasterService>> GrpcTransport::dial(std::string_view target,
                                                           const PeerPatience& patience) {
  MR_ASSIGN(auto channel, GrpcMasterChannel::create(target, threads(), host_, patience));
  return std::shared_ptr<MasterService>(std::move(channel));
}

Result<std::shared_ptr<StandbyService>> GrpcTransport::standby(std::string_view address,
                                                               const PeerPatience& patience) {
  MR_ASSIGN(auto channel, GrpcStandbyChannel::create(address, threads(), host_, patience));
  return std::shared_ptr<StandbyService>(std::move(channel));
}

std::unique_ptr<WorkerDirectory> GrpcTransport::peers(const PeerOptions& options) {
  return std::make_unique<GrpcDirectory>(
      threads(), in_the_name_of(host_, options.log),
      GrpcDirectory::Options{.keepalive = options.keepalive, .patience = options.patience});
}

Result<std::unique_ptr<Serving>> GrpcTransport::serve(Services services, ServeOptions options) {
  if (!options.socket) {
    return invalid("the task at ", options.address,
                   " has no socket to be served on, and gRPC needs one");
  }
  MR_ASSIGN(auto server,
            GrpcServer::start(in_the_name_of(host_, options.log), std::move(*options.socket),
                              threads(), services, {.keepalive = options.keepalive}));
  return std::make_unique<ServedOverGrpc>(std::move(services), std::move(server));
}

}  // namespace millrace
