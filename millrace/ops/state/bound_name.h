// A node's resource, for kernel_from() of op/bind.h: as resource_name_of() reads it.
#pragma once

#include "millrace/ops/state/resource_access.h"

namespace millrace {

struct BoundName {
  Result<ResourceName> read(const KernelSpec& spec) const { return resource_name_of(spec); }
};

}  // namespace millrace
