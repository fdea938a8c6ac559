// Candidates: on which devices a group of nodes may be, by what is asked of it. Part of placement.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/plan/device_set.h"
#include "millrace/plan/place.h"
#include "millrace/plan/spec_table.h"

namespace millrace {

// The device types that have a kernel for everything in a group.
enum class Support : uint8_t {
  cpu,
  any_type,  // of ops that we have no kernel for, where a remote task is asked for
};

// What is asked of the device of a group, and which one it is.
struct GroupNeeds {
  static constexpr uint32_t kNoDevice = ~uint32_t{0};

  SpecId requested = SpecTable::kAnywhere;
  // The device of a variable or queue that the group shares; never given up for a request.
  SpecId resource = SpecTable::kAnywhere;
  uint32_t device = kNoDevice;  // its place in DeviceSet::devices, once the group has one
  Support support = Support::cpu;
  bool has_state = false;
  bool is_found_by_name = false;  // has a variable, a queue or an accumulator

  bool is_placed() const { return device != kNoDevice; }
};

class Candidates {
 public:
  // All must outlive this.
  Candidates(const SpecTable& specs, const DeviceSet& devices, const PlaceOptions& options)
      : specs_(specs), devices_(devices), options_(options) {}

  // Where such a group may be, in order of preference; places in DeviceSet::devices. Valid until
  // the next call.
  const std::vector<uint32_t>& of(const GroupNeeds& needs);
  bool allow(const GroupNeeds& needs, uint32_t device);
  // That of the first parameter server among them; none if there is none.
  std::optional<uint32_t> parameter_server(const GroupNeeds& needs);
  // Those that a specification matches.
  std::vector<uint32_t> matching(const DeviceName& spec, Support support) const;
  // Whether types of devices give way where there are none.
  bool is_soft() const { return options_.allow_soft_placement; }

 private:
  const SpecTable& specs_;
  const DeviceSet& devices_;
  const PlaceOptions options_;
  absl::flat_hash_map<std::tuple<SpecId, SpecId, Support>, std::vector<uint32_t>> known_;
};

}  // namespace millrace
