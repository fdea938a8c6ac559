#include "millrace/plan/late_reads.h"

#include <algorithm>
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

// How a node comes after a write: it is dead if the write is, or it may live all the same.
enum class Comes : uint8_t { not_after, after, after_whichever };

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
    comes_.assign(graph_.size(), Comes::not_after);
    const size_t before = graph_.size();
    for (const NodeId read : reads) MR_TRY(split(read));
    if (graph_.size() != before) drop_unneeded(step_);
    return {};
  }

 private:
  using Before = std::vector<NodeId>;  // what a read has to come after

  // Gives each consumer of a read one that comes after the same writes as the consumer.
  Status split(NodeId read) {
    const Endpoint variable = graph_[read].inputs[0];
    const auto readers = consumers_->of(read);
    std::vector<Before> before(readers.size());
    for (const FanOut::Edge& edge : consumers_->of(variable.node)) {
      const bool writes =
          edge.output == variable.output &&
          graph_[edge.consumer].input_types()[static_cast<size_t>(edge.slot)].is_ref;
      if (!writes) continue;
      const std::vector<NodeId> all = mark_from(edge.consumer);
      for (size_t i = 0; i < readers.size(); ++i)
        if (readers[i].slot >= 0) add_before(before[i], edge.consumer, readers[i].consumer, read);
      for (const NodeId each : all) comes_[each] = Comes::not_after;
    }
    std::map<Before, NodeId> late;
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

  // After a write that the reader is dead with, a read comes itself. After one whose branch may not
  // have run, it comes after what the reader waits for, which is there whenever the reader runs.
  void add_before(Before& before, NodeId write, NodeId reader, NodeId read) const {
    const Node& node = graph_[reader];
    if (comes_[reader] == Comes::after) before.push_back(write);
    // A Merge runs when one of its inputs is there, and must not wait for the others.
    if (comes_[reader] != Comes::after_whichever || node.op->role == Role::merge) return;
    const auto add = [&](NodeId waited_for) {
      const bool is_known = std::ranges::find(before, waited_for) != before.end();
      if (comes_[waited_for] != Comes::not_after && waited_for != read && !is_known)
        before.push_back(waited_for);
    };
    for (const Endpoint& input : node.inputs) add(input.node);
    for (const NodeId control : node.control_inputs) add(control);
  }

  // Marks what comes after a node, and lists it: at first what comes by no Merge.
  std::vector<NodeId> mark_from(NodeId write) {
    std::vector<NodeId> list = {write}, outlive;
    const auto visit = [&](size_t begin, Comes how) {
      for (size_t next = begin; next < list.size(); ++next) {
        for (const FanOut::Edge& edge : consumers_->of(list[next])) {
          if (comes_[edge.consumer] != Comes::not_after) continue;
          const bool is_apart = how == Comes::after && may_outlive(graph_[edge.consumer]);
          if (!is_apart) comes_[edge.consumer] = how;
          (is_apart ? outlive : list).push_back(edge.consumer);
        }
      }
    };
    visit(0, Comes::after);
    const size_t begin = list.size();
    for (const NodeId node : outlive) {
      if (comes_[node] != Comes::not_after) continue;
      comes_[node] = Comes::after_whichever;
      list.push_back(node);
    }
    visit(begin, Comes::after_whichever);
    return list;
  }

  Result<NodeId> read_after(NodeId read, const Before& what) {
    const Node& node = graph_[read];
    std::vector<NodeId> before(node.control_inputs.begin(), node.control_inputs.end());
    before.insert(before.end(), what.begin(), what.end());
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
  std::vector<Comes> comes_;         // after the write that is looked at
};

}  // namespace

Status read_late(StepGraph& step) { return LateReads(step).run(); }

}  // namespace millrace
