// A role of a job, as its Job tells of it, with the pods that there are. Part of sight.h; pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/kubernetes/seen_pod.h"

namespace millrace {

struct SeenRole {
  std::string job = {};   // the Job's name
  std::string name = {};  // as the job file has it
  int64_t order = 0;
  int64_t count = 0;  // that it may have
  bool decides = true;
  bool is_suspended = false;
  int64_t restarts = 0;  // of each task, at most
  int may_lose = 0;
  const nlohmann::ordered_json* end = nullptr;  // the condition that it is complete or has failed
  std::vector<RoleSize> sizes = {};             // the first, and what it was scaled to
  std::vector<std::vector<Pod>> pods = {};      // by index, oldest first
  std::vector<bool> completed_indexes = {};     // that Kubernetes has counted
  std::vector<bool> failed_indexes = {};        // that it does not try again

  bool is_wanted(size_t index) const { return index < static_cast<size_t>(sizes.back().count); }
  // The pod has ended, and no other will be made for its index.
  bool has_ended_for_good(size_t index, const Pod& pod) const;
};

bool is_job(const nlohmann::ordered_json& object);

// Of objects of any shape, in the order of the job; they outlive the roles.
std::vector<SeenRole> seen_roles(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace millrace
