// LocalDevices: the devices of one task, as one session sees them.
//
// The worker has one set, made when it starts; a session has it as it is, under other names (a
// cluster that the client sent), with containers of its own (isolated), or both. All of them are
// the same devices, with the same incarnations. Immutable but for what is in the containers; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/cluster/messages.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/collective/collectives.h"

namespace millrace {

class KeptState;  // ops/state/kept_state.h

class LocalDevices {
 public:
  // `cpus` >= 1 devices CPU:0, CPU:1 … with fresh incarnations.
  // `kept` has their resources; null: they have new ones.
  static LocalDevices create(const TaskName& task, int cpus, const Host& host,
                             const KeptState* kept = nullptr);

  LocalDevices renamed(const TaskName& task) const;
  LocalDevices isolated() const;

  size_t size() const { return devices_.size(); }
  const DeviceContext& operator[](size_t index) const { return devices_[index].context; }
  const std::shared_ptr<ResourceStore>& resources_of(size_t index) const {
    return devices_[index].resources;
  }
  // The device with this full name, in any spelling. Errors: INVALID_ARGUMENT "<name> unknown
  // device." and what there is.
  Result<size_t> find(std::string_view full_name) const;
  // The device of this type and id, whatever task the name says: how peers name devices of a task
  // that has another name in their session. Errors as `find`.
  Result<size_t> find_local(const DeviceName& name) const;
  std::vector<DeviceAttributes> attributes(int64_t memory_limit) const;

  // Puts the task's collectives among the resources of each device.
  void share(const std::shared_ptr<Collectives>& collectives) const;

  // Drops containers (none given: the default one) on all devices.
  void clear(const std::vector<std::string>& containers, const Status& why);
  void clear_all(const Status& why);

 private:
  struct Device {
    DeviceName name;
    std::string description;
    DeviceContext context;
    std::shared_ptr<ResourceStore> resources;
  };
  Status unknown(std::string_view name) const;

  std::vector<Device> devices_;
};

}  // namespace millrace
