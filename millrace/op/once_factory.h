// OnceFactory: makes the kernels of an update that can be made once under a lease.
//
// A step that is made under a lease has a mark on its updating nodes, of the planner's making. The
// kernel of a node without the mark is the plain one, and nothing lies between. That an op's
// factory is one of these is how the planner knows which ops to mark; docs/design/once.md tells
// what for, ops/state/made_once.h makes them.
#pragma once

#include <string_view>

#include "millrace/op/kernel.h"

namespace millrace {

// The mark: an attribute that says under which name the step holds the lease.
inline constexpr std::string_view kUnderLease = "_under_lease";

struct OnceFactory {
  KernelFactory plain, under_lease;

  Result<std::unique_ptr<Kernel>> operator()(const KernelSpec& spec) const {
    return (spec.attrs.find(kUnderLease) == nullptr ? plain : under_lease)(spec);
  }
};

inline bool is_made_once(const OpDef& op) { return op.cpu.target<OnceFactory>() != nullptr; }

}  // namespace millrace
