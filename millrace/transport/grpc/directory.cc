#include "millrace/transport/grpc/directory.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/grpc/worker_channel.h"

namespace millrace {

GrpcDirectory::GrpcDirectory(const GrpcThreads& threads, const Host& host)
    : GrpcDirectory(threads, host, Options{}) {}
GrpcDirectory::GrpcDirectory(const GrpcThreads& threads, const Host& host, Options options)
    : queue_(threads.queue()),
      options_(options),
      metrics_(host.metrics),
      rounds_(std::make_shared<transport::Rounds>(host, options.patience.limit)) {}
GrpcDirectory::~GrpcDirectory() { rounds_->stop(); }

Result<std::shared_ptr<WorkerService>> GrpcDirectory::worker(const TaskName& task,
                                                             std::string_view address) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(address).with(task.to_string()));
  if (parsed.port == 0)
    return invalid(task.to_string(), " is said to be at ", address,
                   ", but nobody listens on port 0");
  const std::string canonical = parsed.to_string();
  return std::make_shared<transport::WorkerChannel>(transport::Peer{task.to_string(), canonical},
                                                    channel(canonical));
}

std::shared_ptr<transport::Channel> GrpcDirectory::channel(const std::string& address) {
  MutexLock lock(mutex_);
  std::shared_ptr<transport::Channel>& channel = channels_[address];
  if (channel == nullptr) {
    const auto keepalive = static_cast<int>(options_.keepalive.count());
    channel = transport::Channel::create(address, queue_, {.keepalive_millis = keepalive}, rounds_,
                                         metrics_);
  }
  return channel;
}

}  // namespace millrace
