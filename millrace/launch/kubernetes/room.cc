#include "millrace/launch/kubernetes/room.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/object_words.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPodCount = "pods";
constexpr double kMostAmount = 9e18;  // that an int64 holds

double factor_of(std::string_view unit) {
  static const std::map<std::string_view, double> kFactors = {
      {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
      {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
      {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  const auto found = kFactors.find(unit);
  return found == kFactors.end() ? 0 : found->second;
}

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    int64_t& at = sum[name];
    at = amount > std::numeric_limits<int64_t>::max() - at ? std::numeric_limits<int64_t>::max()
                                                           : at + amount;
  }
}

Amounts amounts_of(const Json& quantities) {
  Amounts amounts;
  if (!quantities.is_object()) return amounts;
  for (const auto& [name, quantity] : quantities.items()) {
    if (quantity.is_string()) amounts[name] = thousandths_of(quantity.get<std::string>());
    if (quantity.is_number()) amounts[name] = thousandths_of(quantity.dump());
  }
  return amounts;
}

// A limit counts as a request where there is none.
Amounts asks_of(const Json& container) {
  Amounts asks = amounts_of(object_part(container, {"resources", "limits"}));
  for (const auto& [name, amount] : amounts_of(object_part(container, {"resources", "requests"})))
    asks[name] = amount;
  return asks;
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> texts;
  if (!object.is_object()) return texts;
  for (const auto& [name, value] : object.items())
    if (value.is_string()) texts[name] = value.get<std::string>();
  return texts;
}

bool takes_pods(const Json& node) { return object_part(node, {"spec", "unschedulable"}) != true; }

std::vector<Taint> taints_of(const Json& node) {
  std::vector<Taint> taints;
  for (const Json& taint : object_part(node, {"spec", "taints"}))
    if (object_text(taint, {"effect"}) != "PreferNoSchedule")
      taints.push_back({.key = object_text(taint, {"key"}),
                        .value = object_text(taint, {"value"}),
                        .effect = object_text(taint, {"effect"})});
  return taints;
}

bool tolerates(const PodWish& wish, const Taint& taint) {
  return std::ranges::any_of(wish.tolerations, [&](const PodToleration& it) {
    return (it.key.empty() || it.key == taint.key) &&
           (it.effect.empty() || it.effect == taint.effect) &&
           (it.of_any_value || it.value == taint.value);
  });
}

bool is_open_to(const Machine& machine, const PodWish& wish) {
  return std::ranges::all_of(machine.taints,
                             [&](const Taint& taint) { return tolerates(wish, taint); });
}

std::vector<PodToleration> tolerations_of(const Json& spec) {
  std::vector<PodToleration> tolerations;
  for (const Json& it : object_part(spec, {"tolerations"}))
    tolerations.push_back({.key = object_text(it, {"key"}),
                           .of_any_value = object_text(it, {"operator"}) == "Exists",
                           .value = object_text(it, {"value"}),
                           .effect = object_text(it, {"effect"})});
  return tolerations;
}

// Of the pods that we make: they keep apart from those of their own role.
std::string apart_of(const Json& spec) {
  std::string label;
  for (const Json& term : object_part(
           spec, {"affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}))
    label = object_text(term, {"topologyKey"});
  return label;
}

bool is_over(const Json& pod) {
  const std::string phase = object_text(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool has_labels(const Machine& machine, const PodWish& wish) {
  return std::ranges::all_of(wish.nodes, [&](const auto& label) {
    const auto found = machine.labels.find(label.first);
    return found != machine.labels.end() && found->second == label.second;
  });
}

int64_t amount_in(const Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

bool has_room(const Machine& machine, const PodWish& wish) {
  return has_labels(machine, wish) && is_open_to(machine, wish) &&
         std::ranges::all_of(wish.asks, [&](const auto& ask) {
           return ask.second <= 0 || ask.second <= amount_in(machine.free, ask.first);
         });
}

void take(Machine& machine, const Amounts& asks) {
  for (const auto& [name, amount] : asks) machine.free[name] -= amount;
}

// The largest part of a machine that is left over of what the pod asks for.
double left_over(const Machine& machine, const PodWish& wish) {
  double most = 0;
  for (const auto& [name, amount] : wish.asks)
    if (const int64_t whole = amount_in(machine.whole, name); whole > 0)
      most = std::max(most, static_cast<double>(amount_in(machine.free, name) - amount) /
                                static_cast<double>(whole));
  return most;
}

// The largest part of all that there is, of what it asks for.
double size_of(const PodWish& wish, const Amounts& all) {
  double size = 0;
  for (const auto& [name, amount] : wish.asks)
    if (const int64_t there = amount_in(all, name); there > 0)
      size = std::max(size, static_cast<double>(amount) / static_cast<double>(there));
  return size;
}

// What the machine has of the label by which pods keep apart; without that it is no place for them.
std::optional<std::string> place_of(const Machine& machine, const std::string& label) {
  const auto found = machine.labels.find(label);
  return found == machine.labels.end() ? std::optional<std::string>() : found->second;
}

// `taken`: where pods of the wish are that keep apart.
Machine* best_for(std::vector<Machine>& machines, const PodWish& wish,
                  const std::set<std::string>& taken) {
  const auto is_free = [&](const Machine& machine) {
    if (wish.apart.empty()) return true;
    const auto place = place_of(machine, wish.apart);
    return place && !taken.contains(*place);
  };
  Machine* best = nullptr;
  for (Machine& machine : machines)
    if (has_room(machine, wish) && is_free(machine) &&
        (best == nullptr || left_over(machine, wish) < left_over(*best, wish)))
      best = &machine;
  return best;
}

}  // namespace

int64_t thousandths_of(std::string_view quantity) {
  double number = 0;
  const char* end = quantity.data() + quantity.size();
  const auto [stop, fault] = std::from_chars(quantity.data(), end, number);
  if (fault != std::errc() || !std::isfinite(number) || number <= 0) return 0;
  // "1E" is an exa, and "1E3" a thousand: from_chars takes the latter alone.
  const double value = number * factor_of({stop, static_cast<size_t>(end - stop)}) * 1000;
  return value >= kMostAmount ? std::numeric_limits<int64_t>::max()
                              : std::llround(std::ceil(value));
}

PodWish wish_of(const Json& spec) {
  PodWish wish{.tolerations = tolerations_of(spec),
               .apart = apart_of(spec),
               .nodes = texts_of(object_part(spec, {"nodeSelector"}))};
  for (const Json& container : object_part(spec, {"containers"}))
    add(wish.asks, asks_of(container));
  // They run before the others, one after the other.
  for (const Json& container : object_part(spec, {"initContainers"}))
    for (const auto& [name, amount] : asks_of(container))
      wish.asks[name] = std::max(wish.asks[name], amount);
  add(wish.asks, amounts_of(object_part(spec, {"overhead"})));
  wish.asks[kPodCount] = 1000;
  wish.count = 1;
  return wish;
}

std::vector<Machine> machines_of(const std::vector<Json>& objects) {
  std::vector<Machine> machines;
  std::map<std::string, size_t> by_name;
  for (const Json& object : objects) {
    if (object_text(object, {"kind"}) != "Node" || !takes_pods(object)) continue;
    Machine machine{.name = object_text(object, {"metadata", "name"}),
                    .taints = taints_of(object),
                    .labels = texts_of(object_part(object, {"metadata", "labels"})),
                    .whole = amounts_of(object_part(object, {"status", "allocatable"}))};
    machine.free = machine.whole;
    by_name.emplace(machine.name, machines.size());
    machines.push_back(std::move(machine));
  }
  for (const Json& object : objects) {
    if (object_text(object, {"kind"}) != "Pod" || is_over(object)) continue;
    const auto where = by_name.find(object_text(object, {"spec", "nodeName"}));
    if (where != by_name.end())
      take(machines[where->second], wish_of(object_part(object, {"spec"})).asks);
  }
  return machines;
}

int64_t put_on(std::vector<Machine>& machines, const std::vector<PodWish>& wishes) {
  Amounts all;
  for (const Machine& machine : machines) add(all, machine.whole);
  std::vector<const PodWish*> order;
  for (const PodWish& wish : wishes) order.push_back(&wish);
  std::ranges::stable_sort(order, std::greater(),
                           [&](const PodWish* wish) { return size_of(*wish, all); });
  int64_t placed = 0;
  for (const PodWish* wish : order) {
    std::set<std::string> taken;
    for (int64_t i = 0; i < wish->count; ++i) {
      Machine* machine = best_for(machines, *wish, taken);
      if (machine == nullptr) break;
      if (!wish->apart.empty()) taken.insert(*place_of(*machine, wish->apart));
      take(*machine, wish->asks);
      ++placed;
    }
  }
  return placed;
}

std::vector<Machine> emptied(std::vector<Machine> machines) {
  for (Machine& machine : machines) machine.free = machine.whole;
  return machines;
}

}  // namespace millrace
