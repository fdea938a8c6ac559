// The methods that a task serves, by their path: requests are decoded, handed to the task's own
// master and worker, and what these answer is encoded. Private to this room.
#pragma once

#include "millrace/cluster/services.h"
#include "millrace/transport/grpc/call_server.h"

namespace millrace::transport {

// The service must live until the server has stopped.
void add_master_methods(MasterService& master, CallServer::Methods& methods);
// Graphs are imported with `ops`, which must live likewise.
void add_worker_methods(WorkerService& worker, const OpRegistry& ops, CallServer::Methods& methods);

}  // namespace millrace::transport
