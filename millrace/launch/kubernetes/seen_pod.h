// One pod of a job, as the cluster's objects tell of it: how far it is, what it waits for, how it
// ended. Part of sight.h; pure.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "millrace/launch/exit_reason.h"
#include "millrace/launch/ports.h"

namespace millrace {

enum class PodStage { pending, running, ended };

struct Pod {
  std::string name;
  std::string node;
  std::string created;
  NamedPorts ports = {};
  PodStage stage = PodStage::pending;
  std::string waits_for = {};
  bool is_stuck = false;
  ExitFacts facts = {};
  bool was_stopped = false;      // it says itself that it was asked to end
  bool was_scaled_down = false;  // because its role is to have fewer tasks
  // And that the job needs it no longer: no other pod takes its place.
  bool ends_for_good = false;
  bool comes_again = false;  // it ended well, and says that another pod is to take its place
  int64_t failures = 0;      // of pods of its index before it
  int64_t started = 0;
  int64_t ended = 0;
};

// The cluster has given the pod up, because its machine does not answer; it stays until that comes
// back, or is removed.
bool is_lost_with_its_machine(const nlohmann::ordered_json& pod);

// Of an object of any shape.
Pod seen_pod(const nlohmann::ordered_json& object);

}  // namespace millrace
