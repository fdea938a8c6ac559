// made_once: how an op says that its update can be made once under a lease.
//
//   .cpu = made_once(kernel_from<UpdateRefKernel>(cpu::LoopFor{loop_for})),
//
// On a node of a step that is made under a lease (op/once_factory.h), the kernel asks the device's
// book (applied_updates.h): it runs the given one, or leaves it and passes on the reference that it
// would have passed on. So it suits ops whose only output, if they have one, is the reference that
// came in first.
#pragma once

#include "millrace/op/op_def.h"

namespace millrace {

KernelFactory made_once(KernelFactory kernel);

}  // namespace millrace
