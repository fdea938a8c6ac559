#include "millrace/plan/fold.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/base/flush_denormals.h"
#include "millrace/graph/shapes.h"
#include "millrace/op/kernel.h"

namespace millrace {
namespace {

// A control input would tie the constant to a place in the order of things, or to a loop.
const Tensor* free_constant(const Node& node) {
  return node.control_inputs.empty() ? constant_value(node) : nullptr;
}

// Strings can be of any size, whatever their shape says beforehand.
bool has_known_size(ArgType type) { return is_plain(type.dtype) && !type.is_ref; }

bool is_foldable(const Node& node) {
  return node.op->foldable && !node.op->stateful && node.op->kernel_for("CPU") != nullptr &&
         node.op->role == Role::ordinary && node.control_inputs.empty() && !node.inputs.empty() &&
         node.num_outputs() > 0 && std::ranges::all_of(node.output_types(), has_known_size);
}

// Whether shapes alone may tell what it makes.
bool may_be_told(const Node& node) {
  return node.num_outputs() == 1 &&
         (node.op->tells != ShapeFact::none || node.op->elements != nullptr);
}

bool decides_who_runs(Role role) { return role >= Role::switch_ && role <= Role::receive; }

class Folder {
 public:
  Folder(StepGraph& step, const FoldOptions& options)
      : step_(step), graph_(step.graph), options_(options) {}

  Status run() {
    if (!may_fold_anything()) return {};
    MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph_));
    look_at_shapes(order);
    for (NodeId id : order) fold(graph_[id]);
    if (values_.empty()) return {};
    const auto size = static_cast<NodeId>(graph_.size());
    for (NodeId id = 0; id < size; ++id) {
      if (!is_folded(id)) MR_TRY(rewire(id));
    }
    drop_unneeded(step_);
    return {};
  }

 private:
  // A look at each node, so that graphs with nothing to fold cost no sorting.
  bool may_fold_anything() const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node& node) {
      if (!is_foldable(node)) return false;
      return node.op->tells != ShapeFact::none ||
             std::ranges::all_of(node.inputs, [&](const Endpoint& input) {
               return free_constant(graph_[input.node]) != nullptr;
             });
    });
  }

  // Shapes as this step has them: what is fed may have another one than the graph's author said.
  void look_at_shapes(const std::vector<NodeId>& order) {
    const auto asks = [](const Node& node) { return node.op->tells != ShapeFact::none; };
    if (std::ranges::none_of(graph_.nodes(), asks)) return;
    ShapeTable shapes;
    // Shapes that contradict each other are told when the step runs.
    if (!shapes.extend(graph_).ok()) return;
    shapes_ = std::move(shapes);
    may_be_dead_.resize(graph_.size());
    for (const NodeId id : order) {
      const Node& node = graph_[id];
      may_be_dead_[id] =
          decides_who_runs(node.op->role) ||
          std::ranges::any_of(node.inputs, [&](Endpoint in) { return may_be_dead_[in.node]; }) ||
          std::ranges::any_of(node.control_inputs, [&](NodeId in) { return may_be_dead_[in]; });
    }
  }

  const Tensor* value_of(Endpoint source) const {
    if (const Tensor* constant = free_constant(graph_[source.node])) return constant;
    const auto found = values_.find(source);
    return found == values_.end() ? nullptr : &found->second;
  }

  bool is_folded(NodeId id) const { return values_.contains(Endpoint{id, 0}); }

  void fold(const Node& node) {
    if (!is_foldable(node)) return;
    std::vector<const Tensor*> inputs;
    for (const Endpoint& input : node.inputs) inputs.push_back(value_of(input));
    if (std::ranges::find(inputs, nullptr) != inputs.end()) return take_what_is_told(node);
    std::optional<std::vector<NodeId>> waits = waits_for(node);
    if (!waits) return;
    const std::optional<int64_t> bytes = result_bytes(node, inputs);
    if (!bytes || *bytes > options_.max_result_bytes) return;
    if (total_bytes_ + *bytes > options_.max_total_bytes) return;
    std::vector<Tensor> outputs = compute(node, inputs);
    if (outputs.empty()) return;
    total_bytes_ += *bytes;
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_.emplace(Endpoint{node.id, static_cast<int32_t>(i)}, std::move(outputs[i]));
    }
    keep_waits(node, *std::move(waits));
  }

  // A node whose inputs' shapes tell what it makes of them. Where a branch or a loop decides
  // whether it runs, so must what it makes.
  void take_what_is_told(const Node& node) {
    if (!shapes_ || !may_be_told(node) || may_be_dead_[node.id]) return;
    std::optional<std::vector<NodeId>> waits = waits_for(node);
    if (!waits) return;
    std::optional<Tensor> told = shapes_->constant(graph_, {node.id, 0});
    if (!told) return;
    values_.emplace(Endpoint{node.id, 0}, *std::move(told));
    keep_waits(node, *std::move(waits));
  }

  // What ran before a node that is to be folded still runs, and before those who read it. None if
  // that is so much that it would weigh more than the node.
  std::optional<std::vector<NodeId>> waits_for(const Node& node) const {
    constexpr size_t kMost = 16;
    std::vector<NodeId> waits;
    const auto add = [&](NodeId before) {
      if (std::ranges::find(waits, before) == waits.end()) waits.push_back(before);
    };
    for (const Endpoint& input : node.inputs) {
      if (is_folded(input.node)) {
        std::ranges::for_each(waits_of(input.node), add);
      } else if (free_constant(graph_[input.node]) == nullptr) {
        add(input.node);
      }
      if (waits.size() > kMost) return std::nullopt;
    }
    return waits;
  }
  void keep_waits(const Node& node, std::vector<NodeId> waits) {
    if (!waits.empty()) waits_.emplace(node.id, std::move(waits));
  }
  std::span<const NodeId> waits_of(NodeId folded) const {
    const auto found = waits_.find(folded);
    return found == waits_.end() ? std::span<const NodeId>() : found->second;
  }

  // Asked before the kernel runs: a few bytes of input can make gigabytes of output.
  static std::optional<int64_t> result_bytes(const Node& node,
                                             const std::vector<const Tensor*>& inputs) {
    std::vector<PartialShape> shapes;
    for (const Tensor* input : inputs) shapes.push_back(input->shape());
    const auto outputs = infer_outputs(node, shapes, inputs);
    if (!outputs.ok()) return std::nullopt;
    int64_t total = 0;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const std::optional<Shape> shape = (*outputs)[i].to_shape();
      constexpr int64_t kMostElements = int64_t{1} << 40;  // so that the product can't overflow
      if (!shape || shape->num_elements() > kMostElements) return std::nullopt;
      total +=
          shape->num_elements() * static_cast<int64_t>(dtype_size(node.output_types()[i].dtype));
    }
    return total;
  }

  // The outputs, or none if the kernel could not make them all.
  static std::vector<Tensor> compute(const Node& node, const std::vector<const Tensor*>& inputs) {
    const std::vector<ArgType> input_types(node.input_types().begin(), node.input_types().end());
    const std::vector<ArgType> output_types(node.output_types().begin(), node.output_types().end());
    const Result<std::unique_ptr<Kernel>> kernel =
        node.op->cpu(KernelSpec{.node_name = node.name,
                                .attrs = node.attr_view(),
                                .inputs = input_types,
                                .outputs = output_types,
                                .device = node.device()});
    if (!kernel.ok() || (*kernel)->is_async()) return {};
    std::vector<Value> arguments, results(output_types.size());
    for (const Tensor* input : inputs) arguments.emplace_back(*input);
    DeviceContext device{.name = std::string(node.device())};
    Cancellation cancellation;
    StepContext step;
    step.device = &device;
    step.cancellation = &cancellation;
    KernelContext context(step, node.name, arguments, results, output_types);
    const FlushDenormals flush;  // as in a step
    if (!(*kernel)->run(context).ok()) return {};
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      const bool is_dead = context.output_is_dead(static_cast<int>(i));
      if (is_dead || results[i].tensor.dtype() != output_types[i].dtype) return {};
      outputs.push_back(std::move(results[i].tensor));
    }
    return outputs;
  }

  // Gives a node that stays constants in place of what was folded.
  Status rewire(NodeId id) {
    std::vector<NodeId> controls;
    bool has_changed = false;
    for (const NodeId before : graph_[id].control_inputs) {
      if (!is_folded(before)) {
        controls.push_back(before);
        continue;
      }
      // To wait for a constant is to wait for what it waited for.
      std::ranges::copy(waits_of(before), std::back_inserter(controls));
      has_changed = true;
    }
    for (size_t slot = 0; slot < graph_[id].inputs.size(); ++slot) {
      const Endpoint source = graph_[id].inputs[slot];
      if (!values_.contains(source)) continue;
      MR_ASSIGN(const NodeId constant, constant_for(source, id));
      MR_TRY(graph_.set_input(id, static_cast<int>(slot), {constant, 0}));
      const std::span<const NodeId> waits = waits_of(source.node);
      std::ranges::copy(waits, std::back_inserter(controls));
      has_changed |= !waits.empty();
    }
    if (!has_changed) return {};
    // Who reads a node waits for it anyway.
    absl::flat_hash_set<NodeId> read;
    for (const Endpoint& input : graph_[id].inputs) read.insert(input.node);
    std::erase_if(controls, [&](NodeId before) { return read.contains(before); });
    graph_.set_control_inputs(id, std::move(controls));
    return {};
  }

  // One on each device where it is needed: a constant is cheaper to keep than to send every time.
  Result<NodeId> constant_for(Endpoint source, NodeId consumer) {
    const std::string_view device = graph_[consumer].device();
    NodeId& constant =
        constants_.try_emplace(std::pair(source, device.data()), kNoNode).first->second;
    if (constant != kNoNode) return constant;
    const Tensor& value = values_.at(source);
    std::string name = str_cat("ConstantFolding/", graph_[source.node].name);
    if (source.output > 0) str_append(&name, "_", source.output);
    MR_ASSIGN(constant, graph_.add({.name = graph_.unique_name(name),
                                    .op = "Const",
                                    .attrs = {{"dtype", value.dtype()}, {"value", value}}}));
    graph_.set_device(constant, device);
    return constant;
  }

  StepGraph& step_;
  Graph& graph_;
  const FoldOptions& options_;
  int64_t total_bytes_ = 0;
  std::optional<ShapeTable> shapes_;              // if a node asks for one
  std::vector<bool> may_be_dead_;                 // or run again and again
  absl::flat_hash_map<Endpoint, Tensor> values_;  // outputs of folded nodes
  // Nodes that folded ones waited for, and that are not constants themselves.
  absl::flat_hash_map<NodeId, std::vector<NodeId>> waits_;
  absl::flat_hash_map<std::pair<Endpoint, const char*>, NodeId> constants_;  // and their devices
};

}  // namespace

Status fold_constants(StepGraph& step, const FoldOptions& options) {
  return Folder(step, options).run();
}

}  // namespace millrace
