// The lease that a step is fed, where nothing but a _HoldLease gets it (plan/lease_updates.h): the
// run of a graph on one device holds it before the first kernel runs, so that neither the feed nor
// its holder need be nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "millrace/base/result.h"
#include "millrace/graph/graph.h"

namespace millrace {

struct LeaseFeed {
  std::shared_ptr<const Graph> graph;  // without the two
  std::string key;                     // by which the lease comes
};

// Nothing if the graph is not of that form. Errors: INVALID_ARGUMENT for a transfer without its
// attributes.
Result<std::optional<LeaseFeed>> lease_feed_of(const Graph& graph);

}  // namespace millrace
