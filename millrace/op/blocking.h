// Work of a kernel that may wait inside a system call: files, a pipe that nobody reads.
#pragma once

#include "absl/functional/any_invocable.h"

#include "millrace/op/kernel.h"

namespace millrace {

// For Kernel::start: runs `work` at StepContext::blocking (here if the step has none) and answers
// with what it returns, or with the reason of the step's cancellation as soon as that comes. Work
// whose turn comes later is not begun; but no system call can be called back, so `work` may end
// long after the step, and must touch nothing that belongs to it. What it makes it hands over in
// something that it shares with `done`.
void run_blocking(KernelContext& context, absl::AnyInvocable<Status()> work, Done<void> done);

// The files of the device, which outlive such work. Errors: FAILED_PRECONDITION if it has none.
Result<Files*> files_of(KernelContext& context);

}  // namespace millrace
