// The methods that a task serves, by their path: requests are decoded, handed to the task's own
// master and worker, and what these answer is encoded.
#pragma once

#include <string>

#include "millrace/cluster/services.h"
#include "millrace/cluster/standby_service.h"
#include "millrace/transport/protocol/received_call.h"

namespace millrace::transport {

// The service must live until the server has stopped.
void add_master_methods(MasterService& master, ServedMethods& methods);
// Graphs are imported with `ops`, which must live likewise.
void add_worker_methods(WorkerService& worker, const OpRegistry& ops, ServedMethods& methods);
void add_standby_methods(StandbyService& standby, ServedMethods& methods);
// Answers all other methods with UNAVAILABLE and `why`: the task is there, but serves nobody.
void refuse_other_methods(const std::string& why, ServedMethods& methods);

}  // namespace millrace::transport
