// RetryGraph: which steps of a client's graph may be made again, and under what; and the nodes that
// are needed for it, next to the client's:
//
//   _retry/name       a placeholder: the name of the step (retry_book.h)
//   _retry/step       StepLease: has the step's updates made once for that name
//
// A step may be made again if all that it changes are updates that are made once
// (op/once_factory.h) outside of loops, and if nothing of what it changes otherwise outlives it.
// What is not known to be harmless is taken to be harmful: then the step is made as without all
// this. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "millrace/master/named_graph.h"
#include "millrace/op/registry.h"
#include "millrace/wire/graph_def.h"

namespace millrace {

class RetryGraph {
 public:
  static constexpr std::string_view kName = "_retry/name:0", kStepNode = kRetryStepNode;

  // `ops` outlives this.
  explicit RetryGraph(const OpRegistry& ops) : graph_(ops) {}

  wire::GraphDef own_nodes() const;
  // Notes nodes and functions, of which some may be known already.
  void extend(const wire::GraphDef& graph) { graph_.extend(graph); }

  enum class Again : uint8_t {
    never,
    as_it_is,    // it updates nothing, or under a lease of its own
    under_name,  // it updates
  };
  struct StepKind {
    Again again = Again::as_it_is;
    std::string why_never = {};  // "'take' (QueueDequeueV2) …"
  };
  StepKind kind_of(const StepRequestNames& names) const;

 private:
  NamedGraph graph_;
};

}  // namespace millrace
