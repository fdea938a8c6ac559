#include "millrace/plan/device_set.h"

#include <algorithm>
#include <tuple>

namespace millrace {
namespace {

int priority_of(const Device& device) {
  if (*device.name.type == "GPU") return 210;
  return *device.name.type == "CPU" ? 70 : 50;
}

}  // namespace

Result<DeviceSet> DeviceSet::create(const std::vector<Entry>& entries) {
  DeviceSet set;
  for (const Entry& entry : entries) {
    MR_ASSIGN(const DeviceName name, DeviceName::parse(entry.name));
    if (!name.is_full()) return invalid("'", entry.name, "' does not name one device of one task");
    set.devices_.push_back({.name = name,
                            .full_name = name.to_string(),
                            .incarnation = entry.incarnation,
                            .locality = entry.locality});
    set.tasks_.push_back(name.task_name());
  }
  if (set.devices_.empty()) return invalid("the session has no devices");
  std::ranges::sort(set.tasks_);
  set.tasks_.erase(std::unique(set.tasks_.begin(), set.tasks_.end()), set.tasks_.end());
  std::ranges::sort(set.devices_, [](const Device& a, const Device& b) {
    const auto rank = [](const Device& device) {
      return std::make_tuple(-priority_of(device), device.locality != Locality::local_to_master,
                             std::string_view(device.full_name));
    };
    return rank(a) < rank(b);
  });
  for (uint32_t i = 0; i < set.devices_.size(); ++i) {
    Device& device = set.devices_[i];
    const auto task = std::ranges::lower_bound(set.tasks_, device.name.task_name());
    device.task = static_cast<uint32_t>(task - set.tasks_.begin());
    if (set.by_name_.emplace(device.full_name, i).second) continue;
    return invalid("device ", device.full_name, " is listed twice");
  }
  return set;
}

const Device* DeviceSet::find(std::string_view full_name) const {
  const auto found = by_name_.find(to_absl(full_name));
  return found == by_name_.end() ? nullptr : &devices_[found->second];
}

uint64_t DeviceSet::incarnation(std::string_view full_name) const {
  const Device* device = find(full_name);
  return device ? device->incarnation : 0;
}

bool DeviceSet::is_single_localhost() const {
  return tasks_.size() == 1 && tasks_[0].job == "localhost";
}

std::string DeviceSet::names() const {
  constexpr size_t kMost = 40;
  std::vector<std::string_view> sorted;
  for (const Device& device : devices_) sorted.push_back(device.full_name);
  std::ranges::sort(sorted);
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
    str_append(&text, i ? ", " : "", sorted[i]);
  }
  if (sorted.size() > kMost) str_append(&text, ", … ", sorted.size() - kMost, " more");
  return text;
}

}  // namespace millrace
