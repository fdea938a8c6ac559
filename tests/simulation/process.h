// Process: one life of a program in the simulation: its machine, its place in the network, and its
// end.
//
// Owned by whoever plays it. A process that is killed falls silent at once: nothing that it still
// does is seen by others, and its connections close as its system closes them. Its objects are then
// taken apart in peace, which also shows whether they let go of everything.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/network.h"
#include "tests/simulation/sim_host.h"

namespace millrace::simulation {

class Process {
 public:
  // `site` is where it runs; `seed` that of its random numbers.
  Process(World& world, Network& network, std::string site, uint64_t seed, HearLog hear)
      : network_(network), site_(std::move(site)), host_(world, site_, seed, std::move(hear)) {}

  const std::string& site() const { return site_; }
  Network& network() { return network_; }
  World::Actor& actor() { return host_.actor(); }
  const Host& host() const { return host_.get(); }
  Clock::Time now() const { return host().clock.now(); }

  // No message leaves or reaches it from now on.
  void fall_silent() { is_dead_ = true; }
  bool is_dead() const { return is_dead_; }

 private:
  Network& network_;
  const std::string site_;
  SimHost host_;
  bool is_dead_ = false;
};

}  // namespace millrace::simulation
