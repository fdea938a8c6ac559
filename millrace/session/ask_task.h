// Asks a task over its port what it waits for: what `millrace status` is made of.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/cluster/inspection.h"
#include "millrace/session/runtime.h"

namespace millrace {

// Blocks until the task at `target` ("grpc://host:port") has answered, or for `patience`. Errors:
// INVALID_ARGUMENT for another target; UNIMPLEMENTED for a task that is not Millrace's, told so;
// UNAVAILABLE or DEADLINE_EXCEEDED for one that does not answer.
Result<TaskDescription> ask_task(std::string_view target, const std::shared_ptr<Runtime>& runtime,
                                 Clock::Duration patience);

}  // namespace millrace
