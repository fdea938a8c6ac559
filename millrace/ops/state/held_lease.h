// HeldLease: a lease among the resources of a step that is made under it, where the step's updates
// find it. Read-only once made.
#pragma once

#include <string>

#include "millrace/op/resource.h"
#include "millrace/ops/state/lease.h"

namespace millrace {

class HeldLease final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "held lease";
  static constexpr std::string_view kContainer = "_leases";

  explicit HeldLease(Lease lease) : lease_(std::move(lease)) {}
  const Lease& operator*() const { return lease_; }
  std::string description() const override { return "the lease that a step is made under"; }

 private:
  const Lease lease_;
};

}  // namespace millrace
