// GrpcTransport: gRPC with TensorFlow's methods and messages, for masters and workers in any
// process. server.h, directory.h and master_channel.h are its parts.
//
// All that it makes shares one set of threads, which start with the first use, and gRPC with them.
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/transport/direct/reader.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/transport.h"

namespace millrace {

class GrpcTransport final : public Transport {
 public:
  // `host` outlives what it makes. With `direct` programs of ours call each other without gRPC once
  // they have met (transport/direct).
  explicit GrpcTransport(const Host& host, bool direct = true);
  ~GrpcTransport() override;

  std::string_view scheme() const override { return "grpc"; }
  Runner* answers() override;
  Result<std::shared_ptr<MasterService>> dial(std::string_view target,
                                              const PeerPatience& patience) override;
  std::unique_ptr<WorkerDirectory> peers(const PeerOptions& options) override;
  Result<std::shared_ptr<StandbyService>> standby(std::string_view address,
                                                  const PeerPatience& patience) override;
  Result<std::unique_ptr<Serving>> serve(Services services, ServeOptions options) override;
  // For tests: so many messages have come without gRPC.
  uint64_t num_direct_messages();

 private:
  GrpcThreads& threads();

  const Host host_;
  const bool direct_;
  Mutex mutex_;
  std::unique_ptr<GrpcThreads> threads_ MR_GUARDED_BY(mutex_);
  std::unique_ptr<transport::Reader> reader_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
