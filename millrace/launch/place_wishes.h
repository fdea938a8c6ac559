// What a job asks of one manager alone, in that manager's words: the sections `kubernetes`, `slurm`
// and `yarn` of its file (place_sections.h). Other places do not look at them. Values; pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// Lets pods onto machines that keep others off: "gpu=yes:NoSchedule", as `kubectl taint` has it;
// "gpu:NoSchedule" for any value, "gpu" for any effect, "*" for all, and "spot:NoExecute for 10m".
struct Toleration {
  std::string key = {};  // empty: all
  std::optional<std::string> value = {};
  std::string effect = {};  // empty: all
  std::optional<int64_t> seconds = {};
  friend bool operator==(const Toleration&, const Toleration&) = default;
};
Result<Toleration> parse_toleration(std::string_view text);
std::string to_text(const Toleration& toleration);

// Of a job, and of a role over it.
struct KubernetesWishes {
  std::vector<Toleration> tolerations = {};
  std::string priority = {};  // a PriorityClass
  std::string service_account = {};
  std::vector<std::string> pull_secrets = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  // Labels of machines: a role's tasks spread evenly over the values of the one, share none of the
  // other, and the job's tasks keep to one value of the third as far as they can.
  std::string spread = {};
  std::string apart = {};
  std::string near = {};
  std::string scheduler = {};  // of the whole job
  int64_t shm = 0;             // bytes of /dev/shm; 0: what the container has
  friend bool operator==(const KubernetesWishes&, const KubernetesWishes&) = default;
};
// The role's over the job's: lists and maps of both, else what the role says if it says something.
KubernetesWishes merged(const KubernetesWishes& job, const KubernetesWishes& role);
// "machine", "zone" and "region" as the labels that they are; others as they stand.
std::string topology_label(const std::string& name);

// As many elements as an array may have, unless a cluster allows other numbers (MaxArraySize).
inline constexpr int kMostRuns = 1000;

struct SlurmWishes {
  std::string account = {};
  std::string qos = {};
  std::string reservation = {};
  std::string constraint = {};  // beside what roles' `nodes` say
  bool exclusive = false;
  // Slurm begins the job again as a whole when it is preempted, loses a machine, or is requeued.
  bool requeue = false;
  // It runs up to so many times, one after the other, until it succeeds: as elements of an array.
  int runs = 1;
  // So long before the time limit, tasks get this signal; "": SIGUSR1.
  std::chrono::milliseconds warn{0};  // 0: they do not
  std::string warn_signal = {};
  friend bool operator==(const SlurmWishes&, const SlurmWishes&) = default;
};

struct YarnWishes {
  std::optional<int> priority = {};
  std::vector<std::string> tags = {};
  friend bool operator==(const YarnWishes&, const YarnWishes&) = default;
};

// Which signal the tasks get as a warning.
int warn_signal_of(const SlurmWishes& wishes);

// INVALID_ARGUMENT that names the section and the key, and says what is allowed.
Status check_wishes(const KubernetesWishes& wishes);
Status check_wishes(const SlurmWishes& wishes);
Status check_wishes(const YarnWishes& wishes);

}  // namespace millrace
