#include "millrace/plan/late_reads.h"

#include <map>
#include <optional>
#include <vector>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

bool is_ref(const Graph& graph, Endpoint endpoint) {
  return graph[endpoint.node].output_types()[static_cast<size_t>(endpoint.output)].is_ref;
}

// Makes a value of what a reference stands for.
bool is_read(const Graph& graph, const Node& node) {
  return node.op->passes_on && node.inputs.size() == 1 && !node.output_types()[0].is_ref &&
         is_ref(graph, node.inputs[0]);
}

// Not dead only because everything before it is.
bool may_outlive(const Node& node) {
  return node.op->role == Role::merge || node.op->role == Role::control_trigger;
}

class LateReads {
 public:
  explicit LateReads(StepGraph& step) : step_(step), graph_(step.graph) {}

  Status run() {
    std::vector<NodeId> reads;
    for (const Node& node : graph_.nodes()) {
      if (is_read(graph_, node)) reads.push_back(node.id);
    }
    if (reads.empty()) return {};
    consumers_.emplace(graph_);
    reached_.assign(graph_.size(), false);
    const size_t before = graph_.size();
    for (const NodeId read : reads) MR_TRY(split(read));
    if (graph_.size() != before) drop_unneeded(step_);
    return {};
  }

 private:
  using Writes = std::vector<NodeId>;

  // Gives each consumer of a read one that comes after the same writes as the consumer.
  Status split(NodeId read) {
    const Endpoint variable = graph_[read].inputs[0];
    const auto readers = consumers_->of(read);
    std::vector<Writes> before(readers.size());
    for (const FanOut::Edge& edge : consumers_->of(variable.node)) {
      const bool writes =
          edge.output == variable.output &&
          graph_[edge.consumer].input_types()[static_cast<size_t>(edge.slot)].is_ref;
      if (!writes) continue;
      const std::vector<NodeId> after = reach_from(edge.consumer);
      for (size_t i = 0; i < readers.size(); ++i) {
        if (readers[i].slot >= 0 && reached_[readers[i].consumer])
          before[i].push_back(edge.consumer);
      }
      for (const NodeId each : after) reached_[each] = false;
    }
    std::map<Writes, NodeId> late;
    for (size_t i = 0; i < readers.size(); ++i) {
      if (before[i].empty()) continue;
      const auto [at, is_new] = late.try_emplace(before[i], kNoNode);
      if (is_new) {
        MR_ASSIGN(at->second, read_after(read, before[i]));
      }
      MR_TRY(graph_.set_input(readers[i].consumer, readers[i].slot, {at->second, 0}));
    }
    return {};
  }

  // Marks what comes after a node and is dead if it is, and lists it.
  std::vector<NodeId> reach_from(NodeId write) {
    std::vector<NodeId> list = {write};
    for (size_t next = 0; next < list.size(); ++next) {
      for (const FanOut::Edge& edge : consumers_->of(list[next])) {
        if (reached_[edge.consumer] || may_outlive(graph_[edge.consumer])) continue;
        reached_[edge.consumer] = true;
        list.push_back(edge.consumer);
      }
    }
    return list;
  }

  Result<NodeId> read_after(NodeId read, const Writes& writes) {
    const Node& node = graph_[read];
    std::vector<NodeId> before(node.control_inputs.begin(), node.control_inputs.end());
    before.insert(before.end(), writes.begin(), writes.end());
    const std::string device(node.device());
    MR_ASSIGN(const NodeId late,
              graph_.add({.name = graph_.unique_name(str_cat(node.name, "/late")),
                          .op = node.op->name,
                          .inputs = {node.inputs[0]},
                          .control_inputs = std::move(before),
                          .attrs = node.attrs()}));
    graph_.set_device(late, device);
    return late;
  }

  StepGraph& step_;
  Graph& graph_;
  std::optional<FanOut> consumers_;  // of the step as it came
  std::vector<bool> reached_;
};

}  // namespace

Status read_late(StepGraph& step) { return LateReads(step).run(); }

}  // namespace millrace
