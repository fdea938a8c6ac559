// How kernels find the resources that their nodes and inputs name.
//
// A resource is named by a container and a name: by a node's attributes ("container",
// "shared_name", the node's own name), by a resource handle, or by the two strings behind a
// reference of the old queue ops. Looking one up takes the manager's lock and a hash, so kernels
// keep what they found.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/op/kernel.h"

namespace millrace {

struct ResourceName {
  std::string container, name;  // no container: the default one of the device
  friend bool operator==(const ResourceName&, const ResourceName&) = default;
};

// From the attributes "container" and "shared_name"; without a shared name, the node's own.
Result<ResourceName> resource_name_of(const KernelSpec& spec);

// The handle of a resource on this kernel's device.
ResourceHandle make_handle(KernelContext& context, const ResourceName& name,
                           std::string_view type_name);

// What input `slot` names: a scalar resource handle, or the strings of a container and a name, or a
// reference to them.
// Errors: INVALID_ARGUMENT if it names nothing, something of another type, or something on another
// device.
Result<ResourceName> named_by_input(KernelContext& context, int slot, std::string_view type_name);

// Remembers the resource that was found last, as long as nothing was dropped from the device.
// Thread-safe.
template <class T>
class CachedResource {
 public:
  // The resource of that name. `look_up(manager, name)` is asked if it is not remembered.
  template <class LookUp>
  Result<std::shared_ptr<T>> get(ResourceStore& manager, const ResourceName& name, LookUp look_up) {
    // Asked before looking up: what is dropped in between must not be remembered.
    const uint64_t generation = manager.generation();
    // Lock order: this one, then the manager's.
    MutexLock lock(mutex_);
    if (found_ != nullptr && manager_ == &manager && generation_ == generation && name_ == name)
      return found_;
    Result<std::shared_ptr<T>> found = look_up(manager, name);
    if (!found.ok()) return found;
    found_ = *found;
    manager_ = &manager;
    generation_ = generation;
    name_ = name;
    return found;
  }

 private:
  Mutex mutex_;
  std::shared_ptr<T> found_ MR_GUARDED_BY(mutex_);
  const ResourceStore* manager_ MR_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ MR_GUARDED_BY(mutex_) = 0;
  ResourceName name_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
