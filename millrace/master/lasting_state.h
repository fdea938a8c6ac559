// Whether what a session's graph has on the cluster is still there after tasks have started again.
// Pure functions; lasting_session.h asks them.
#pragma once

#include <span>

#include "millrace/base/status.h"
#include "millrace/cluster/messages.h"
#include "millrace/op/registry.h"

namespace millrace {

// Whether any of these keeps its state, so that losing it need not be the end of a session.
bool may_come_back(std::span<const DeviceAttributes> devices);

// Every device that the graph names is `now` what it was `before`, or a later life of the same
// state, with nothing on it that such a state does not hold.
//
// Errors: ABORTED naming the device, and what is lost with it.
Status is_all_there(const wire::GraphDef& graph, const OpRegistry& ops,
                    std::span<const DeviceAttributes> before,
                    std::span<const DeviceAttributes> now);

// Whether any device of both has started again.
bool has_started_again(std::span<const DeviceAttributes> before,
                       std::span<const DeviceAttributes> now);

}  // namespace millrace
