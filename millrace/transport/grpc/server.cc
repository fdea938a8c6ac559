#include "millrace/transport/grpc/server.h"

#include <utility>

#include "millrace/transport/grpc/call_server.h"
#include "millrace/transport/grpc/core.h"
#include "millrace/transport/protocol/receive_memory.h"
#include "millrace/transport/protocol/served_methods.h"

namespace millrace {
namespace {

transport::ServedMethods all_methods(MasterService& master, WorkerService& worker,
                                     const OpRegistry& ops) {
  transport::ServedMethods methods;
  transport::add_master_methods(master, methods);
  transport::add_worker_methods(worker, ops, methods);
  return methods;
}

transport::ServedMethods all_methods(const Services& services) {
  transport::ServedMethods methods;
  if (services.standby) transport::add_standby_methods(*services.standby, methods);
  if (services.master) transport::add_master_methods(*services.master, methods);
  if (services.worker) transport::add_worker_methods(*services.worker, services.ops, methods);
  if (!services.master || !services.worker)
    transport::refuse_other_methods("this task stands by for another one, and serves nobody yet",
                                    methods);
  return methods;
}

}  // namespace

class GrpcServer::Running {
 public:
  Running(const Host& host, ListeningSocket socket, const GrpcThreads& threads,
          transport::ServedMethods methods, const GrpcServerOptions& options)
      : calls(host, std::move(socket), std::move(methods), threads.queue(), threads.direct(),
              {.keepalive_millis = static_cast<int>(options.keepalive.count())}) {}

  transport::CallServer calls;
};

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const Host& host, ListeningSocket socket,
                                                      GrpcThreads& threads,
                                                      transport::ServedMethods methods,
                                                      GrpcServerOptions options) {
  transport::keep_receive_memory();
  MR_TRY(threads.start());
  auto running =
      std::make_unique<Running>(host, std::move(socket), threads, std::move(methods), options);
  MR_TRY(running->calls.listen());
  // Once more, now that ours are there: gRPC starts some of its own with its first calls only, and
  // ends the process where it can't.
  MR_TRY(transport::try_threads_of_grpc());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(running)));
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const Host& host, ListeningSocket socket,
                                                      GrpcThreads& threads,
                                                      const Services& services,
                                                      GrpcServerOptions options) {
  return start(host, std::move(socket), threads, all_methods(services), options);
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const Host& host, ListeningSocket socket,
                                                      GrpcThreads& threads, const OpRegistry& ops,
                                                      MasterService& master, WorkerService& worker,
                                                      GrpcServerOptions options) {
  return start(host, std::move(socket), threads, all_methods(master, worker, ops), options);
}

GrpcServer::GrpcServer(std::unique_ptr<Running> running) : running_(std::move(running)) {}
GrpcServer::~GrpcServer() = default;

int GrpcServer::port() const { return running_->calls.port(); }

Status GrpcServer::stop(const Status& why, Clock::Duration grace) {
  return running_->calls.stop(why, grace);
}

}  // namespace millrace
