// made_once: how an op says that its update can be made once under a lease.
//
//   .cpu = made_once(kernel_from<UpdateRefKernel>(cpu::LoopFor{loop_for})),
//
// On a node of a step that is made under a lease (op/once_factory.h), the kernel asks the device's
// book (applied_updates.h): it runs the given one, or leaves it and passes on the reference that it
// would have passed on. So it suits ops whose only output, if they have one, is the reference that
// came in first.
#pragma once

#include <memory>

#include "millrace/base/done.h"
#include "millrace/op/op_def.h"

namespace millrace {

class KernelContext;  // op/kernel.h
struct UpdateName;    // applied_book.h

// A kernel of an update that is made at a moment of its own, when others make room: where the state
// is kept on the disk, it is told its name, to be noted at that moment with what it changes. Others
// wait for nothing, and are over before the state is looked at.
class NamedUpdate {
 public:
  virtual ~NamedUpdate() = default;
  virtual void start_as(std::shared_ptr<const UpdateName> name, KernelContext& context,
                        Done<void> done) = 0;
};

KernelFactory made_once(KernelFactory kernel);

}  // namespace millrace
