#include "millrace/worker/local_devices.h"

#include "millrace/cluster/kept_device.h"
#include "millrace/ops/state/kept_state.h"

namespace millrace {

LocalDevices LocalDevices::create(const TaskName& task, int cpus, const Host& host,
                                  const KeptState* kept) {
  LocalDevices made;
  for (int id = 0; id < cpus; ++id) {
    auto resources = kept != nullptr ? kept->resources(static_cast<size_t>(id))
                                     : std::make_shared<ResourceStore>(task.job);
    const DeviceName name = DeviceName::on(task, "CPU", id);
    made.devices_.push_back(
        {.name = name,
         .description = kept == nullptr ? std::string()
                                        : kept_device_description(kept->identity(), kept->keep()),
         .context = {.name = name.to_string(),
                     .incarnation = host.random.next(),
                     .resources = resources.get(),
                     .random = &host.random,
                     .files = &host.files,
                     .clock = &host.clock,
                     .timers = &host.timers},
         .resources = resources});
  }
  return made;
}

LocalDevices LocalDevices::renamed(const TaskName& task) const {
  LocalDevices made = *this;
  for (Device& device : made.devices_) {
    device.name = DeviceName::on(task, *device.name.type, *device.name.id);
    device.context.name = device.name.to_string();
  }
  return made;
}

LocalDevices LocalDevices::isolated() const {
  LocalDevices made = *this;
  for (Device& device : made.devices_) {
    device.resources = std::make_shared<ResourceStore>(device.resources->default_container());
    device.context.resources = device.resources.get();
  }
  return made;
}

Result<size_t> LocalDevices::find(std::string_view full_name) const {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].context.name == full_name) return i;
  MR_ASSIGN(const DeviceName name, DeviceName::parse(full_name));
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].name == name) return i;
  return unknown(full_name);
}

Result<size_t> LocalDevices::find_local(const DeviceName& name) const {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].name.type == name.type && devices_[i].name.id == name.id) return i;
  return unknown(name.to_string());
}

Status LocalDevices::unknown(std::string_view name) const {
  std::string known;
  for (const Device& device : devices_)
    str_append(&known, known.empty() ? "" : ", ", device.context.name);
  return invalid(name, " unknown device. The devices here are ", known);
}

std::vector<DeviceAttributes> LocalDevices::attributes(int64_t memory_limit) const {
  std::vector<DeviceAttributes> all;
  for (const Device& device : devices_) {
    all.push_back({.name = device.context.name,
                   .type = *device.name.type,
                   .memory_limit = memory_limit,
                   .incarnation = device.context.incarnation,
                   .description = device.description});
  }
  return all;
}

void LocalDevices::share(const std::shared_ptr<Collectives>& collectives) const {
  // Nobody else gives anything that name.
  for (const Device& device : devices_)
    (void)device.resources->add<Collectives>(Collectives::kContainer, "", collectives);
}

void LocalDevices::clear(const std::vector<std::string>& containers, const Status& why) {
  for (const Device& device : devices_) {
    if (containers.empty()) device.resources->clear("", why);
    for (const std::string& container : containers) device.resources->clear(container, why);
  }
}

void LocalDevices::clear_all(const Status& why) {
  for (const Device& device : devices_) device.resources->clear_all(why);
}

}  // namespace millrace
