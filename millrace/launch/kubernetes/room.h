// How much room a cluster's machines have, and how many pods of a job find a place there: requests
// against what is allocatable and not taken, machine by machine, by node selectors, taints, and
// what keeps a role's pods apart. Pure, of objects as the cluster tells them. It knows less than
// the scheduler does (other affinities, volumes, preemption): what follows of it may be put off,
// and must not be forbidden for ever.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace {

// By the resource's name, in thousandths: "cpu", "memory", "pods", "nvidia.com/gpu".
using Amounts = std::map<std::string, int64_t, std::less<>>;

// "100m", "1.5", "64Mi", "2k", "1e3", as thousandths; 0 for what is no quantity, and for what is
// below it.
int64_t thousandths_of(std::string_view quantity);

// Keeps off pods that don't tolerate it.
struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};
};

struct Machine {
  std::string name = {};
  std::vector<Taint> taints = {};
  std::map<std::string, std::string> labels = {};
  Amounts whole = {};  // when nothing runs there
  Amounts free = {};
};

// Of pods; without a key of all taints, without an effect of each.
struct PodToleration {
  std::string key = {};
  bool of_any_value = false;
  std::string value = {};
  std::string effect = {};
};

// Pods that are all alike.
struct PodWish {
  std::vector<PodToleration> tolerations = {};
  std::string apart = {};  // the label of which no two of them have the same machine's value
  Amounts asks = {};
  std::map<std::string, std::string> nodes = {};  // the labels that their machine has to have
  int64_t count = 0;
};

// Of a pod's spec, or that in a template: what its containers ask for, and a place.
PodWish wish_of(const nlohmann::ordered_json& pod_spec);

// Those that take pods, with the room that `pods` leave; objects of other
// kinds are passed over.
std::vector<Machine> machines_of(const std::vector<nlohmann::ordered_json>& objects);

// Puts pods onto the machines, the largest first, each where the least is left over, and takes
// their room. How many have found a place.
int64_t put_on(std::vector<Machine>& machines, const std::vector<PodWish>& wishes);

// As if nothing ran there.
std::vector<Machine> emptied(std::vector<Machine> machines);

}  // namespace millrace
