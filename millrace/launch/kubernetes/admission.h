// Which jobs of a cluster may have machines now, so that two that need many do not each hold a part
// and wait for the other's (docs/design/kubernetes.md). Whoever asks about jobs decides it anew of
// what the cluster tells, and everybody decides the same: nobody has to be there all the time.
//
//   waiting --- there is room for all of it ---> admitted
//   waiting --- it is the first, and its time has come, or nobody knows of room ---> tried
//   admitted, tried --- it holds a part too long, and another could go on by that ---> waiting
//
// Of two jobs that each hold a part the older keeps it. Our arithmetic may be wrong, and machines
// may be made when pods wait for them: so it puts off, and does not forbid. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/launch/kubernetes/gang.h"
#include "millrace/launch/kubernetes/room.h"

namespace millrace {

struct ClusterRoom {
  // All of a cluster's jobs in their order (gangs_in), or those of one namespace.
  std::vector<Gang> gangs = {};
  // Not set: who asks may not know, and sees the jobs of one namespace only.
  std::optional<std::vector<Machine>> machines = std::nullopt;
  std::string name_space = {};  // whose jobs are decided about; the others are only seen
};

// The Jobs of that gang are to be suspended if `next` waits, else not, after `next` stands on its
// head. Of one whose Jobs are not as its annotation says, `next` is what stands there.
struct AdmissionStep {
  size_t gang;
  Admission next;
};

struct AdmissionPlan {
  std::vector<AdmissionStep> steps = {};
  // By the job's name, why it waits: "no room for all of it: 6 of 8 tasks fit".
  std::map<std::string, std::string> waits = {};
};

// How long a job may hold a part of its machines when others could go on with that.
inline constexpr int64_t kHoldSeconds = 30;
// How long the first waits for room before it is tried.
inline constexpr int64_t kTrySeconds = 120;

// `draw`, from 0 to 1, is by how much a pause is longer than it has to be.
AdmissionPlan plan_admission(const ClusterRoom& room, int64_t now, double draw);

}  // namespace millrace
