#include "millrace/plan/merge_equal.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

#include "millrace/op/attr_identity.h"

namespace millrace {
namespace {

// Comparing larger constants costs more than it saves.
constexpr size_t kLargeBytes = 1 << 20;

bool is_mergeable(const Graph& graph, const Node& node) {
  if (node.op->stateful || node.op->role != Role::ordinary || !node.op->foldable) return false;
  if (node.inputs.empty() && !constant_value(node)) return false;
  if (!can_be_identical(node.attrs())) return false;
  if (const Tensor* value = constant_value(node)) return value->num_bytes() <= kLargeBytes;
  const auto is_ref = [](ArgType type) { return type.is_ref; };
  return std::ranges::none_of(node.output_types(), is_ref) &&
         std::ranges::none_of(node.inputs, [&](const Endpoint& input) {
           return graph[input.node].output_types()[input.output].is_ref;
         });
}

// What a node is made of, once its inputs stand for those that they were merged into.
struct Recipe {
  absl::InlinedVector<Endpoint, 2> inputs;
  absl::InlinedVector<NodeId, 1> control_inputs;
  size_t hash = 0;
};

class Merger {
 public:
  explicit Merger(StepGraph& step) : step_(step), graph_(step.graph) {}

  Status run() {
    const size_t mergeable = static_cast<size_t>(std::ranges::count_if(
        graph_.nodes(), [&](const Node& node) { return is_mergeable(graph_, node); }));
    if (mergeable < 2) return {};
    MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph_));
    merged_into_.resize(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id) merged_into_[id] = id;
    recipes_.resize(graph_.size());
    is_root_.assign(graph_.size(), false);
    for (NodeId root : step_.roots) is_root_[root] = true;
    absl::flat_hash_set<NodeId, Hash, Equal> known(mergeable, Hash{*this}, Equal{*this});
    bool any = false;
    for (NodeId id : order) {
      if (!is_mergeable(graph_, graph_[id])) continue;
      recipes_[id] = recipe_of(graph_[id]);
      const NodeId first = *known.insert(id).first;
      if (first == id || is_root_[id]) continue;
      merged_into_[id] = first;
      any = true;
    }
    if (!any) return {};
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (merged_into_[id] == id) MR_TRY(rewire(id));
    }
    drop_unneeded(step_);
    return {};
  }

 private:
  struct Hash {
    const Merger& merger;
    size_t operator()(NodeId id) const { return merger.recipes_[id].hash; }
  };
  struct Equal {
    const Merger& merger;
    bool operator()(NodeId a, NodeId b) const { return a == b || merger.are_equal(a, b); }
  };

  Recipe recipe_of(const Node& node) const {
    Recipe recipe;
    for (const Endpoint& input : node.inputs) {
      recipe.inputs.push_back({merged_into_[input.node], input.output});
    }
    if (node.op->commutative && recipe.inputs.size() >= 2 && recipe.inputs[1] < recipe.inputs[0]) {
      std::swap(recipe.inputs[0], recipe.inputs[1]);
    }
    for (NodeId before : node.control_inputs) recipe.control_inputs.push_back(merged_into_[before]);
    std::ranges::sort(recipe.control_inputs);
    recipe.hash = absl::HashOf(node.op, node.device().data(), recipe.inputs, recipe.control_inputs,
                               hash_of(node.attrs()));
    return recipe;
  }

  bool are_equal(NodeId a, NodeId b) const {
    const Recipe &left = recipes_[a], &right = recipes_[b];
    // Devices are interned: the same text is in the same place.
    return left.hash == right.hash && graph_[a].op == graph_[b].op &&
           graph_[a].device().data() == graph_[b].device().data() && left.inputs == right.inputs &&
           left.control_inputs == right.control_inputs &&
           (graph_[a].kind == graph_[b].kind ||
            are_identical(graph_[a].attrs(), graph_[b].attrs()));
  }

  Status rewire(NodeId id) {
    for (size_t slot = 0; slot < graph_[id].inputs.size(); ++slot) {
      const Endpoint source = graph_[id].inputs[slot];
      if (merged_into_[source.node] == source.node) continue;
      MR_TRY(
          graph_.set_input(id, static_cast<int>(slot), {merged_into_[source.node], source.output}));
    }
    const auto& controls = graph_[id].control_inputs;
    std::vector<NodeId> before;
    for (NodeId control : controls) before.push_back(merged_into_[control]);
    if (!std::ranges::equal(before, controls)) graph_.set_control_inputs(id, std::move(before));
    return {};
  }

  StepGraph& step_;
  Graph& graph_;
  std::vector<NodeId> merged_into_;  // itself if it stays
  std::vector<Recipe> recipes_;      // of mergeable nodes
  std::vector<bool> is_root_;
};

}  // namespace

Status merge_equal_nodes(StepGraph& step) { return Merger(step).run(); }

}  // namespace millrace
