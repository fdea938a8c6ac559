// Peers: the workers of tasks elsewhere, as a simulated process sees them: a WorkerDirectory over
// channels.
//
// Owned by the process that calls.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/simulation/channel.h"

#include "millrace/cluster/services.h"

namespace millrace::simulation {

// Tasks share the channel of their address.
class Peers final : public WorkerDirectory {
 public:
  explicit Peers(Process& process) : process_(process) {}
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override;
  void abandon();
  size_t num_calls() const;

 private:
  Process& process_;
  std::map<std::string, std::shared_ptr<Channel>, std::less<>> channels_;
};

}  // namespace millrace::simulation
