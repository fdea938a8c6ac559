// Faults: what is done to a fleet at random, and undone after a while; the oracle is told.
//
// Owned by the fuzz.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/fleet.h"
#include "tests/simulation/oracle.h"

namespace millrace::simulation {

class Faults {
 public:
  // `complain` gets what was left over of a task that ended.
  Faults(Fleet& fleet, Oracle& oracle, std::vector<std::string> clients,
         std::function<void(const std::string&)> complain)
      : fleet_(fleet),
        oracle_(oracle),
        actor_(fleet.world()),
        clients_(std::move(clients)),
        complain_(std::move(complain)) {}

  // One now and then, from now on.
  void begin();
  // No more; everything is healed and every task is there.
  void end();

 private:
  void next();
  void strike(const std::string& site, Clock::Duration length);
  void later(Clock::Duration delay, Task task);
  void say(const std::string& what);
  void end_task(const std::string& site, Clock::Duration length, bool is_told);
  void end_stopped(const std::string& site);
  void start(const std::string& site);
  void cut(const std::string& a, const std::string& b, bool both, Clock::Duration length);

  Fleet& fleet_;
  Oracle& oracle_;
  World::Actor actor_;
  const std::vector<std::string> clients_;
  const std::function<void(const std::string&)> complain_;
  std::vector<std::string> struck_;   // one fault at a time for each
  std::vector<std::string> stopped_;  // told to go, and not gone yet
  bool is_over_ = false;
};

}  // namespace millrace::simulation
