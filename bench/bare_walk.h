// What counting itself costs: a graph walked with plain counters and one virtual call per node; no
// kernel contexts, no values, no errors. The floor that the executor's figures stand beside.
#pragma once

#include <memory>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace::bench {

class BareWalk {
 public:
  explicit BareWalk(const Graph& graph)
      : waits_(graph.size()), pending_(graph.size()), fan_out_(graph) {
    for (const Node& node : graph.nodes())
      waits_[node.id] = static_cast<int>(node.control_inputs.size());
  }
  void run() {
    pending_ = waits_;
    for (NodeId id = 0; id < waits_.size(); ++id)
      if (waits_[id] == 0) ready_.push_back(id);
    while (!ready_.empty()) {
      const NodeId id = ready_.back();
      ready_.pop_back();
      visit_->node(id);
      for (const FanOut::Edge& edge : fan_out_.of(id))
        if (--pending_[edge.consumer] == 0) ready_.push_back(edge.consumer);
    }
  }

 private:
  struct Visit {
    virtual ~Visit() = default;
    virtual void node(NodeId id) { last = id; }
    volatile NodeId last = 0;
  };
  std::vector<int> waits_, pending_;
  std::vector<NodeId> ready_;
  FanOut fan_out_;
  std::unique_ptr<Visit> visit_ = std::make_unique<Visit>();
};

}  // namespace millrace::bench
