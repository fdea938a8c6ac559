#include "tests/simulation/peers.h"

#include "millrace/transport/protocol/remote_worker.h"

namespace millrace::simulation {

Result<std::shared_ptr<WorkerService>> Peers::worker(const TaskName& task,
                                                     std::string_view address) {
  std::shared_ptr<Channel>& channel = channels_[std::string(address)];
  if (!channel) channel = std::make_shared<Channel>(process_, std::string(address));
  return std::make_shared<transport::RemoteWorker>(
      transport::Peer{task.to_string(), std::string(address)}, channel);
}

void Peers::abandon() {
  for (const auto& [address, channel] : channels_) channel->abandon();
}

size_t Peers::num_calls() const {
  size_t count = 0;
  for (const auto& [address, channel] : channels_) count += channel->num_calls();
  return count;
}

}  // namespace millrace::simulation
