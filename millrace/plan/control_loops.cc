#include "millrace/plan/control_loops.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/frames.h"

namespace millrace {
namespace {

// The devices of a graph's nodes are interned: the same text is in the same place.
bool same_device(const Node& a, const Node& b) { return a.device().data() == b.device().data(); }

class LoopBuilder {
 public:
  LoopBuilder(Graph& graph, FreshNames& names, const FrameTable& frames)
      : graph_(graph),
        names_(names),
        frames_(frames),
        conditions_(frames.frames().size(), kNoNode),
        enters_(frames.frames().size(), kNoNode) {}

  Status run() {
    const auto size = static_cast<NodeId>(graph_.size());
    for (NodeId id = 0; id < size; ++id) {
      const Role role = graph_[id].op->role;
      if (role == Role::loop_cond) conditions_[frames_.of(id)] = id;
      if (role == Role::enter) enters_[frames_.of(id)] = id;
    }
    for (NodeId id = 0; id < size; ++id) {
      if (!takes_from_afar(graph_[id])) continue;
      MR_ASSIGN(const NodeId merge, merge_for(frames_.of_inputs(graph_[id]), id));
      graph_.add_control_input(id, merge);
    }
    return {};
  }

 private:
  // True if an input comes from another device, inside a loop.
  bool takes_from_afar(const Node& node) const {
    if (frames_.of_inputs(node) == FrameTable::kRoot) return false;
    const auto is_afar = [&](NodeId input) { return !same_device(graph_[input], node); };
    return std::ranges::any_of(node.inputs, is_afar, &Endpoint::node) ||
           std::ranges::any_of(node.control_inputs, is_afar);
  }

  // The Merge of the control loop of a frame on the device of `node`; makes it and those of the
  // frames around it, outermost first, where they are missing.
  Result<NodeId> merge_for(uint32_t frame, NodeId node) {
    std::vector<uint32_t> missing;
    const void* const device = graph_[node].device().data();
    for (uint32_t f = frame; f != FrameTable::kRoot && !merges_.contains({f, device});
         f = frames_.frames()[f].parent) {
      missing.push_back(f);
    }
    for (auto f = missing.rbegin(); f != missing.rend(); ++f) {
      MR_ASSIGN(const NodeId merge, add_loop(*f, node));
      merges_.emplace(std::pair(*f, device), merge);
    }
    return merges_.at({frame, device});
  }

  // `like` gives the device, and its name to the new nodes.
  Result<NodeId> add_loop(uint32_t frame, NodeId like) {
    const NodeId condition = conditions_[frame];
    const std::string& frame_name = frames_.frames()[frame].name;
    if (condition == kNoNode) {
      return invalid("A cross-device loop must have a pivot predicate: ", frame_name);
    }
    MR_ASSIGN(const Endpoint start, start_of(frame, like));
    MR_ASSIGN(const int64_t parallel,
              graph_[enters_[frame]].attr_view().integer("parallel_iterations"));
    MR_ASSIGN(const NodeId enter,
              add(like, "Enter", {start},
                  {{"frame_name", frame_name}, {"parallel_iterations", parallel}}));
    MR_ASSIGN(const NodeId merge,
              add(like, "Merge", {{enter, 0}, {}}, {{"T", DType::f32}, {"N", 2}}));
    MR_ASSIGN(const NodeId choice, add(like, "Switch", {{merge, 0}, {condition, 0}}));
    MR_ASSIGN(const NodeId next, add(like, "NextIteration", {{choice, 1}}));
    MR_TRY(graph_.set_input(merge, 1, {next, 0}));
    // The decision arrives through a Recv of its own, which needs its turn like any other.
    if (!same_device(graph_[condition], graph_[choice])) graph_.add_control_input(choice, merge);
    return merge;
  }

  // What enters the loop: the loop of the frame around it, or an empty constant.
  Result<Endpoint> start_of(uint32_t frame, NodeId like) {
    const uint32_t parent = frames_.frames()[frame].parent;
    if (parent != FrameTable::kRoot) {
      return Endpoint{merges_.at({parent, graph_[like].device().data()}), 0};
    }
    MR_ASSIGN(const Tensor empty, Tensor::zeros(DType::f32, Shape{0}));
    MR_ASSIGN(const NodeId constant,
              add(like, "Const", {}, {{"dtype", DType::f32}, {"value", empty}}));
    return Endpoint{constant, 0};
  }

  Result<NodeId> add(NodeId like, std::string_view op, std::vector<Endpoint> inputs,
                     Attrs attrs = {}) {
    const std::string name = str_cat(kControlLoopPrefix, names_.next(graph_[like].name, graph_));
    MR_ASSIGN(const NodeId id, graph_.add_with_back_edges({.name = graph_.unique_name(name),
                                                           .op = op,
                                                           .inputs = std::move(inputs),
                                                           .attrs = std::move(attrs)}));
    graph_.set_device(id, graph_[like].device());
    return id;
  }

  Graph& graph_;
  FreshNames& names_;
  const FrameTable& frames_;
  std::vector<NodeId> conditions_;                                        // LoopCond by frame
  std::vector<NodeId> enters_;                                            // some Enter by frame
  absl::flat_hash_map<std::pair<uint32_t, const void*>, NodeId> merges_;  // by frame and device
};

}  // namespace

bool is_control_loop_merge(const Node& node) {
  return node.op->role == Role::merge && node.name.starts_with(kControlLoopPrefix);
}

void colocate_control_flow(Graph& graph) {
  // The first data consumer of each node, for those that follow it.
  std::vector<NodeId> consumer(graph.size(), kNoNode);
  for (const Node& node : graph.nodes()) {
    for (const Endpoint& input : node.inputs) {
      if (consumer[input.node] == kNoNode) consumer[input.node] = node.id;
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    switch (node.op->role) {
      case Role::switch_:
      case Role::exit:
        graph.set_device(id, graph[node.inputs[0].node].device());
        break;
      case Role::enter:
        if (node.input_types()[0].is_ref) break;
        [[fallthrough]];
      case Role::next_iteration:
        if (consumer[id] != kNoNode) graph.set_device(id, graph[consumer[id]].device());
        break;
      default:
        break;
    }
  }
}

Status add_control_loops(Graph& graph, FreshNames& names) {
  MR_ASSIGN(const FrameTable frames, FrameTable::create(graph));
  if (!frames.has_loops()) return {};
  return LoopBuilder(graph, names, frames).run();
}

}  // namespace millrace
