// OnceGraph: what a session that counts once must know of its client's graph: which steps dequeue,
// and which update; and the nodes that the session needs for itself, next to the client's:
//
//   _once/lease       a placeholder: the lease that a step is made under
//   _once/after       StepLease: has the step made under it; gives the lease that holds then
//   _once/extend/D    QueueExtendLease, for the queue of the dequeue D: what heartbeats run
//   _once/end/D       QueueEndLease, likewise
//
// Knows nodes by their names, as they come in GraphDefs. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/clock.h"
#include "millrace/master/named_graph.h"
#include "millrace/master/prepared_step.h"
#include "millrace/op/registry.h"
#include "millrace/wire/graph_def.h"

namespace millrace {

class OnceGraph {
 public:
  static constexpr std::string_view kLease = "_once/lease:0", kAfter = "_once/after:0",
                                    kAfterNode = "_once/after";

  // Leases last so long. `ops` outlives this.
  OnceGraph(const OpRegistry& ops, Clock::Duration lease) : graph_(ops), lease_(lease) {}

  // The nodes that every session needs once.
  wire::GraphDef own_nodes() const;
  // Notes nodes and functions, of which some may be known already, and adds those for dequeues.
  void extend(wire::GraphDef& graph);

  struct StepKind {
    bool updates = false;
    bool takes = false;  // it has a dequeue
    // "D" of _once/extend/D if it is a dequeue of the graph itself; null for one in a function.
    std::shared_ptr<const std::string> dequeue = nullptr;
  };
  // Of what the step needs, as far as its names are known. A step with a StepLease of the client's
  // own neither updates nor takes, as far as this session is concerned.
  StepKind kind_of(const StepRequestNames& names) const;

 private:
  // What extends and ends leases of that dequeue's queue.
  void add_lease_nodes(const std::string& dequeue, std::vector<wire::NodeDef>& nodes);

  NamedGraph graph_;
  const Clock::Duration lease_;
  absl::flat_hash_set<std::string> dequeues_;  // those with nodes of their own
};

}  // namespace millrace
