#include "millrace/transport/grpc/directory.h"

#include <utility>

#include "millrace/cluster/host_port.h"
#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/protocol/remote_worker.h"

namespace millrace {

GrpcDirectory::GrpcDirectory(const GrpcThreads& threads, const Host& host)
    : GrpcDirectory(threads, host, Options{}) {}
GrpcDirectory::GrpcDirectory(const GrpcThreads& threads, const Host& host, Options options)
    : queue_(threads.queue()),
      direct_(threads.direct()),
      options_(options),
      host_(host),
      rounds_(std::make_shared<transport::Rounds>(host, options.patience.limit)) {}
GrpcDirectory::~GrpcDirectory() { rounds_->stop(); }

Result<std::shared_ptr<WorkerService>> GrpcDirectory::worker(const TaskName& task,
                                                             std::string_view address) {
  MR_ASSIGN(const HostPort parsed, HostPort::parse(address).with(task.to_string()));
  if (parsed.port == 0)
    return invalid(task.to_string(), " is said to be at ", address,
                   ", but nobody listens on port 0");
  const std::string canonical = parsed.to_string();
  return std::make_shared<transport::RemoteWorker>(transport::Peer{task.to_string(), canonical},
                                                   channel(canonical));
}

void GrpcDirectory::let_go(std::string_view address) {
  const Result<HostPort> parsed = HostPort::parse(address);
  if (!parsed.ok()) return;
  std::shared_ptr<transport::Channel> dropped;  // without the lock: it may close a connection
  MutexLock lock(mutex_);
  const auto found = channels_.find(parsed->to_string());
  if (found == channels_.end()) return;
  dropped = std::move(found->second.kept);
  if (dropped != nullptr) --num_kept_;
  channels_.erase(found);
}

std::shared_ptr<transport::Channel> GrpcDirectory::channel(const std::string& address) {
  std::shared_ptr<transport::Channel> dropped, failing;  // as above
  MutexLock lock(mutex_);
  Kept& entry = channels_[address];
  entry.last_use = ++uses_;
  std::shared_ptr<transport::Channel> channel = entry.channel.lock();
  if (channel != nullptr && channel->is_failing()) {
    failing = std::move(channel);
    channel = nullptr;
    if (entry.kept != nullptr) --num_kept_;
    entry.kept = nullptr;
  }
  if (channel == nullptr) {
    const auto keepalive = static_cast<int>(options_.keepalive.count());
    channel =
        transport::Channel::create(address, queue_, {.keepalive_millis = keepalive}, rounds_,
                                   host_.metrics, transport::Lines::to_a_peer(host_, direct_));
    entry.channel = channel;
  }
  if (entry.kept == nullptr) {
    entry.kept = channel;
    ++num_kept_;
  }
  dropped = let_go();
  return channel;
}

std::shared_ptr<transport::Channel> GrpcDirectory::let_go() {
  if (num_kept_ <= options_.kept_channels) return nullptr;
  Kept* oldest = nullptr;
  for (auto& [address, entry] : channels_)
    if (entry.kept && (oldest == nullptr || entry.last_use < oldest->last_use)) oldest = &entry;
  --num_kept_;
  std::shared_ptr<transport::Channel> dropped = std::move(oldest->kept);
  std::erase_if(channels_, [](const auto& known) { return known.second.channel.expired(); });
  return dropped;
}

}  // namespace millrace
