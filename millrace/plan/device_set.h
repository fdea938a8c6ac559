// DeviceSet: the devices that a session may use, as placement and partitioning see them.
//
// Made once per session from what the workers report; immutable. Devices stand in the order in
// which placement prefers them: by type (GPU, then CPU, then others), those of the master's own
// task before remote ones, then by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/result.h"
#include "millrace/op/device_name.h"

namespace millrace {

enum class Locality : uint8_t { remote, local_to_master };

struct Device {
  DeviceName name;  // every part set
  std::string full_name;
  uint64_t incarnation = 0;
  Locality locality = Locality::remote;
  uint32_t task = 0;  // number of its task, see DeviceSet::tasks
};

class DeviceSet {
 public:
  struct Entry {
    std::string name;  // full
    uint64_t incarnation = 0;
    Locality locality = Locality::remote;
  };
  // Errors: INVALID_ARGUMENT for a name that is not full, for one given twice, and for no devices.
  static Result<DeviceSet> create(const std::vector<Entry>& entries);

  // In order of preference.
  std::span<const Device> devices() const { return devices_; }
  // Null if the session has no such device.
  const Device* find(std::string_view full_name) const;
  // 0 for a device that the session does not know, as TensorFlow writes it.
  uint64_t incarnation(std::string_view full_name) const;
  // True for the single task of a session that was made without a cluster.
  bool is_single_localhost() const;
  // "/job:a/…, /job:b/…" in order of names, for messages; cut after a few dozen.
  std::string names() const;

 private:
  std::vector<Device> devices_;
  std::vector<TaskName> tasks_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
};

}  // namespace millrace
