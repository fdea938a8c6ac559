// What a container writes, as it comes through a proxy that somebody else has started: the other
// side of `millrace pod-output`, which is kubectl logs at a tenth of its time and memory.
#pragma once

#include "millrace/base/status.h"
#include "millrace/launch/kubernetes/cluster_api.h"

namespace millrace {

// Writes it all to the descriptor. OK when the container writes no more; errors as of api_fault(),
// UNAVAILABLE where it breaks off or the descriptor is closed.
Status tell_pod_output(const ApiAddress& from, int descriptor);

}  // namespace millrace
