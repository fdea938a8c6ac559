// The depot of a job on Kubernetes: one pod of the job's own that keeps the files which travel with
// it and are too large for a Secret, and what its tasks have made, until somebody has it. It is no
// task: nobody waits for it, and no look at the job counts it. Part of manifests.h; pure.
//
//   Job  NAME-depot   one pod, NAME-depot-0.NAME, port 2224, which runs `millrace depot serve`
//                     (shipping/depot.h); lost is lost: another one would be empty
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/launch/job.h"

namespace millrace {

struct PodFiles;

inline constexpr const char* kDepot = "depot";
// On its Job and its pod, by which looks leave them out.
inline constexpr const char* kPartLabel = "millrace-part";
// In its container.
inline constexpr const char* kDepotFolder = "/var/millrace/depot";
// Of outputs, of all tasks of a job together.
inline constexpr uint64_t kMostOutputs = uint64_t{64} << 30;

std::string depot_of(const std::string& job);       // its Job
std::string depot_address(const std::string& job);  // "words-depot-0.words:2224"

// The object: the labels are those of all that is the job's, the variable the one with its token.
nlohmann::ordered_json depot_job(const JobSpec& job, const PodFiles& files,
                                 nlohmann::ordered_json labels,
                                 const nlohmann::ordered_json& token_variable);

bool is_of_depot(const nlohmann::ordered_json& object);

}  // namespace millrace
