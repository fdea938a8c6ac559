// StepEnds: where a step begins and ends in a session's graph: what its signature names, found.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/graph.h"
#include "millrace/plan/step_graph.h"

namespace millrace {

class StepEnds {
 public:
  // Keeps `whole`, which outlives this. Errors: those of cut_step.
  static Result<StepEnds> find(const Graph& whole, const StepSignature& signature);

  // In the signature's order.
  std::vector<Endpoint> feeds, fetches;
  std::vector<NodeId> targets;

  // What a step reads where `input` is written: what is connected to it, and what to that.
  Endpoint source_of(Endpoint input) const;
  // The same of a control edge, which means "once the value is there" with a placeholder.
  NodeId source_of_control(NodeId before) const;
  // Into feeds; null if it is not fed. Of a control edge's source: if it is a placeholder.
  const size_t* feed_of(Endpoint source) const;
  const size_t* feed_of_control(NodeId source) const;

  // Calls `visit` with each edge of `node` that is not replaced by a feed: its producer.
  template <class Visit>
  void for_each_producer(const Node& node, Visit visit) const {
    for (const Endpoint& input : node.inputs) {
      const Endpoint source = source_of(input);
      if (feed_of(source) == nullptr) visit(source.node);
    }
    for (NodeId before : node.control_inputs) {
      const NodeId source = source_of_control(before);
      if (feed_of_control(source) == nullptr) visit(source);
    }
  }

 private:
  friend class StepEndsFinder;

  explicit StepEnds(const Graph& whole) : whole_(&whole) {}
  bool is_replaced(Endpoint endpoint) const {
    return fed_.contains(endpoint) || connected_.contains(endpoint);
  }
  // Whether `id` is `sought` or needs it.
  bool depends_on(NodeId id, NodeId sought) const;

  const Graph* whole_;
  absl::flat_hash_map<Endpoint, size_t> fed_;          // into feeds
  absl::flat_hash_map<Endpoint, Endpoint> connected_;  // what is read instead
};

}  // namespace millrace
