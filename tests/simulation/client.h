// SimClient: a program that has sessions on simulated tasks: a process of its own, with its channel
// to a master. It says what it is told to say, and waits for nothing.
//
// Owned by whoever tells the story.
#pragma once

#include <memory>
#include <string>

#include "tests/simulation/fleet.h"

#include "millrace/transport/protocol/remote_master.h"

namespace millrace::simulation {

class SimClient {
 public:
  SimClient(Fleet& fleet, std::string name, const std::string& site)
      : process_(fleet.world(), fleet.network(), name, fleet.seed_for(name), fleet.hear()),
        address_(fleet.address(site)),
        channel_(std::make_shared<Channel>(process_, address_)),
        master_(address_, channel_) {}
  ~SimClient() { end(); }

  MasterService& master() { return master_; }
  Process& process() { return process_; }
  std::string target() const { return str_cat("grpc://", address_); }
  size_t num_calls() { return channel_->num_calls(); }

  // The program is no more: its calls are answered to nobody.
  void end() {
    process_.fall_silent();
    channel_->abandon();
    process_.actor().run_alone();
  }

 private:
  Process process_;
  const std::string address_;
  const std::shared_ptr<Channel> channel_;
  transport::RemoteMaster master_;
};

}  // namespace millrace::simulation
