// What a node says of its resource, for kernel_from() of op/bind.h: its name, as resource_name_of()
// reads it, and whether it asks to be kept (op/durable.h).
#pragma once

#include "millrace/op/durable.h"
#include "millrace/op/op_def.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace {

struct BoundName {
  Result<ResourceName> read(const KernelSpec& spec) const { return resource_name_of(spec); }
};

struct BoundWish {
  Result<bool> read(const KernelSpec& spec) const {
    return asks_to_last(spec.attrs.op().name, spec.attrs.attrs());
  }
};

}  // namespace millrace
