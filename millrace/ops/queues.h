// Ops that make queues and ops that use them. The rules are in queue_core.h.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

Status register_queue_handles(OpRegistry& ops);   // FIFOQueueV2 …: queue_handles.cc
Status register_queue_accesses(OpRegistry& ops);  // QueueEnqueueV2 …: queue_accesses.cc

}  // namespace millrace
