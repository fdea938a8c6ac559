// What a step cost, node by node: RunMetadata.cost_graph, for whoever places graphs by what they
// cost. Made of what the workers tell of a traced step.
#pragma once

#include <vector>

#include "millrace/cluster/messages.h"

namespace millrace {

// A node for each of the graphs, numbered from 0. One that runs several times, in a loop, has the
// time of all; one that did not run has none. Edges between graphs are those of their transfers.
std::vector<CostNode> cost_graph_of(const std::vector<DeviceTrace>& traces,
                                    const std::vector<wire::GraphDef>& graphs);

}  // namespace millrace
