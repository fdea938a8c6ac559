#include "millrace/plan/fuse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {
namespace {

struct Product {
  std::string_view op, fused;
  std::array<std::string_view, 6> attrs;  // that both have, besides T
};
constexpr Product kProducts[] = {
    {"Conv2D",
     "_FusedConv2D",
     {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu"}},
    {"MatMul", "_FusedMatMul", {"transpose_a", "transpose_b"}},
};
constexpr std::string_view kBias = "BiasAdd";
// Those that FusedTail (ops/loops/fused_tail.h) computes as the op alone does.
constexpr std::string_view kActivations[] = {"Relu",      "Relu6", "Elu",
                                             "LeakyRelu", "Tanh",  "Sigmoid"};

bool is_activation(const Node& node) {
  return std::ranges::find(kActivations, node.op->name) != std::end(kActivations);
}

const Product* product_of(const Node& node) {
  const auto* const found = std::ranges::find(kProducts, node.op->name, &Product::op);
  return found == std::end(kProducts) ? nullptr : found;
}

// A product and what follows it; the last one stays.
struct Chain {
  const Product* product;
  NodeId first, bias;
  std::optional<NodeId> activation;
  NodeId last() const { return activation.value_or(bias); }
};

// The gradient of a pooling by the largest, and that of the Relu before it.
constexpr std::string_view kPoolGrad = "MaxPoolGrad", kGate = "ReluGrad",
                           kGatedPoolGrad = "_MaxPoolReluGrad";
struct Gated {
  NodeId pool, gate;
};

class Fuser {
 public:
  Fuser(StepGraph& step, const DeviceSet& devices)
      : step_(step), graph_(step.graph), devices_(devices) {}

  Status run() {
    const auto may_begin = [&](const Node& node) {
      return product_of(node) != nullptr || node.op->name == kPoolGrad;
    };
    if (std::ranges::none_of(graph_.nodes(), may_begin)) return {};
    consumers_.emplace(graph_);
    is_root_.assign(graph_.size(), false);
    for (const NodeId root : step_.roots) is_root_[root] = true;
    std::vector<Chain> chains;
    std::vector<Gated> gated;
    for (const Node& node : graph_.nodes()) {
      if (const std::optional<Chain> chain = chain_from(node)) chains.push_back(*chain);
      if (const std::optional<Gated> found = gated_from(node)) gated.push_back(*found);
    }
    if (chains.empty() && gated.empty()) return {};
    for (const Chain& chain : chains) MR_TRY(fuse(chain));
    for (const Gated& found : gated) MR_TRY(fuse(found));
    drop_unneeded(step_);
    return {};
  }

 private:
  std::optional<Chain> chain_from(const Node& first) const {
    const Product* const product = product_of(first);
    if (product == nullptr || graph_.ops().find(product->fused) == nullptr) return std::nullopt;
    // Narrower types would be rounded once instead of three times.
    if (first.output_types()[0].dtype != DType::f32 || !is_here(first)) return std::nullopt;
    const std::optional<NodeId> bias = only_reader(first);
    if (!bias || graph_[*bias].op->name != kBias || !has_same_format(first, graph_[*bias]))
      return std::nullopt;
    Chain chain{product, first.id, *bias, only_reader(graph_[*bias])};
    if (chain.activation && !is_activation(graph_[*chain.activation])) chain.activation.reset();
    return chain;
  }

  std::optional<Gated> gated_from(const Node& pool) const {
    if (pool.op->name != kPoolGrad || graph_.ops().find(kGatedPoolGrad) == nullptr)
      return std::nullopt;
    const std::optional<NodeId> gate = is_here(pool) ? only_reader(pool) : std::nullopt;
    if (!gate || graph_[*gate].op->name != kGate) return std::nullopt;
    // Both look at the same images.
    if (graph_[*gate].inputs[1] != pool.inputs[0]) return std::nullopt;
    return Gated{pool.id, *gate};
  }

  bool is_here(const Node& node) const {
    const Device* const device = devices_.find(node.device());
    return device != nullptr && device->locality == Locality::local_to_master;
  }

  // Who alone reads a node, as its first input and on its device; nobody waits for the node.
  std::optional<NodeId> only_reader(const Node& node) const {
    const auto edges = consumers_->of(node.id);
    if (is_root_[node.id] || edges.size() != 1 || edges[0].slot != 0) return std::nullopt;
    const Node& reader = graph_[edges[0].consumer];
    if (reader.device() != node.device()) return std::nullopt;
    return reader.id;
  }

  static bool has_same_format(const Node& product, const Node& bias) {
    const AttrValue* const biased = bias.attr_view().find("data_format");
    const AttrValue* const format = product.attr_view().find("data_format");
    if (biased == nullptr) return false;
    return format != nullptr ? *biased == *format : *biased == AttrValue("NHWC");
  }

  Status fuse(const Chain& chain) {
    const Node &first = graph_[chain.first], &bias = graph_[chain.bias];
    std::vector<std::string> ops = {std::string(kBias)};
    Attrs attrs = {{"T", DType::f32}, {"num_args", int64_t{1}}};
    for (const std::string_view name : chain.product->attrs) {
      if (const AttrValue* const value = name.empty() ? nullptr : first.attrs().find(name))
        attrs.set(name, *value);
    }
    if (graph_.ops().find(chain.product->fused)->find_attr("TArgs") != nullptr)
      attrs.set("TArgs", std::vector<DType>{DType::f32});
    std::vector<NodeId> before(first.control_inputs.begin(), first.control_inputs.end());
    before.insert(before.end(), bias.control_inputs.begin(), bias.control_inputs.end());
    if (chain.activation) {
      const Node& activation = graph_[*chain.activation];
      ops.push_back(activation.op->name);
      before.insert(before.end(), activation.control_inputs.begin(),
                    activation.control_inputs.end());
      if (const AttrValue* const alpha = activation.attr_view().find("alpha"))
        attrs.set("leakyrelu_alpha", *alpha);
    }
    attrs.set("fused_ops", std::move(ops));
    return graph_.replace(chain.last(),
                          {.name = {},
                           .op = chain.product->fused,
                           .inputs = {first.inputs[0], first.inputs[1], bias.inputs[1]},
                           .control_inputs = std::move(before),
                           .attrs = std::move(attrs)});
  }

  Status fuse(const Gated& found) {
    const Node &pool = graph_[found.pool], &gate = graph_[found.gate];
    std::vector<NodeId> before(pool.control_inputs.begin(), pool.control_inputs.end());
    before.insert(before.end(), gate.control_inputs.begin(), gate.control_inputs.end());
    return graph_.replace(found.gate, {.name = {},
                                       .op = kGatedPoolGrad,
                                       .inputs = {pool.inputs.begin(), pool.inputs.end()},
                                       .control_inputs = std::move(before),
                                       .attrs = pool.attrs()});
  }

  StepGraph& step_;
  Graph& graph_;
  const DeviceSet& devices_;
  std::optional<FanOut> consumers_;  // of the step as it came
  std::vector<bool> is_root_;
};

}  // namespace

Status fuse_chains(StepGraph& step, const DeviceSet& devices) { return Fuser(step, devices).run(); }

}  // namespace millrace
