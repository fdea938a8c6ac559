// A job whose tasks are to come to run all together or not at all, as the cluster tells of it: how
// far it has been let in, and what it asks for. What is decided of it: admission.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/launch/kubernetes/room.h"

namespace millrace {

// On the head of such a job (manifests.h), the one place where it is written how far it is. Its
// Jobs are suspended while it waits; who changes both changes this first.
inline constexpr const char* kAdmissionAnnotation = "millrace/admission";

// Tried: let in though nobody knew of room for all of it.
enum class AdmissionStage { waiting, tried, admitted };

struct Admission {
  AdmissionStage stage = AdmissionStage::waiting;
  int64_t since = 0;       // seconds since the Unix epoch
  int64_t not_before = 0;  // of one that waits: when it is looked at again
  int given_way = 0;       // how often it has let go of what it had
};

// "waiting 1769860805 1769860835 2"
std::string to_text(const Admission& admission);
// Nothing for a text that is none.
std::optional<Admission> parse_admission(std::string_view text);

struct Gang {
  std::string name_space = {};
  std::string name = {};  // the job's
  std::string created = {};
  std::string head = {};     // the Job that has the annotation
  std::string written = {};  // there
  Admission admission = {};
  std::vector<std::pair<std::string, bool>> jobs = {};     // and whether they are suspended
  std::vector<PodWish> wishes = {};                        // of all pods
  std::vector<PodWish> lacking = {};                       // of those without a machine
  std::vector<std::pair<std::string, Amounts>> held = {};  // machines, and what it has there
  int64_t count = 0;
  int64_t bound = 0;  // how many have a machine
  // Some task has ended, or was made later than the others: it has had all of its machines.
  bool has_begun = false;

  // It is let in, and does not have all of its machines yet.
  bool is_assembling() const {
    return admission.stage != AdmissionStage::waiting && bound < count && !has_begun;
  }
};

// Of Jobs and pods, the oldest first; jobs that have ended, or go, are left out.
std::vector<Gang> gangs_in(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace millrace
