// RegisteredPart of a worker that knows its graphs by text only, as every one does that is reached
// over a wire: holds the text, and each run of it is a RunGraph.
#pragma once

#include <memory>
#include <string>

#include "millrace/cluster/services.h"

namespace millrace {

std::shared_ptr<RegisteredPart> part_by_handle(std::shared_ptr<WorkerService> worker,
                                               std::string session_handle,
                                               std::string graph_handle);

}  // namespace millrace
