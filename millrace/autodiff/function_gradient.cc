#include "millrace/autodiff/function_gradient.h"

#include <algorithm>
#include <utility>

#include "millrace/api/builder.h"
#include "millrace/autodiff/between.h"
#include "millrace/autodiff/gradients.h"
#include "millrace/autodiff/placed_nodes.h"
#include "millrace/autodiff/sums.h"

namespace millrace {
namespace {

// A body's nodes in a builder, the gradients of its returns after its arguments.
class Rebuilt {
 public:
  explicit Rebuilt(const FunctionBody& body) : body_(body), builder_(body.graph.ops()) {}

  Builder& builder() { return builder_; }
  Endpoint at(Endpoint of) const { return {ids_[of.node], of.output}; }

  Status run() {
    const Graph& graph = body_.graph;
    ids_.assign(graph.size(), kNoNode);
    for (NodeId arg = 0; arg < body_.num_args; ++arg) MR_TRY(add(graph[arg]));
    for (const Endpoint& returned : body_.returns) {
      const DType dtype = graph[returned.node].output_types()[returned.output].dtype;
      MR_TRY(builder_
                 .add({.name = builder_.claim_name("arriving"),
                       .op = "Placeholder",
                       .attrs = {{"dtype", dtype}}},
                      builder_.current())
                 .status());
    }
    MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph));
    for (const NodeId id : order)
      if (id >= body_.num_args) MR_TRY(add(graph[id]));
    return close_loops();
  }

 private:
  Status add(const Node& node) {
    // What closes a loop is there later; till then its Merge gets twice what enters.
    const auto is_there = [&](const Endpoint& input) { return ids_[input.node] != kNoNode; };
    const auto entering = std::ranges::find_if(node.inputs, is_there);
    std::vector<Endpoint> inputs;
    for (const Endpoint& input : node.inputs)
      inputs.push_back(at(is_there(input) || entering == node.inputs.end() ? input : *entering));
    Surroundings around;
    around.is_plumbing = true;
    MR_ASSIGN(ids_[node.id], builder_.add({.name = builder_.claim_name(node.name),
                                           .op = node.op->name,
                                           .inputs = std::move(inputs),
                                           .attrs = node.attrs()},
                                          around));
    if (!node.requested_device().empty())
      builder_.set_requested_device(ids_[node.id], node.requested_device());
    for (const NodeId before : node.control_inputs)
      builder_.add_control_input(ids_[node.id], ids_[before]);
    return {};
  }

  Status close_loops() {
    for (const Node& node : body_.graph.nodes()) {
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (builder_.graph()[ids_[node.id]].inputs[slot] == at(node.inputs[slot])) continue;
        MR_TRY(builder_.set_input(ids_[node.id], static_cast<int>(slot), at(node.inputs[slot])));
      }
    }
    return {};
  }

  const FunctionBody& body_;
  Builder builder_;
  std::vector<NodeId> ids_;
};

bool has_gradient(const Graph& graph, Endpoint of) {
  const DType dtype = graph[of.node].output_types()[of.output].dtype;
  return is_trainable(dtype) && dtype != DType::resource;
}

}  // namespace

Result<FunctionBody> differentiated(const FunctionBody& body) {
  Rebuilt rebuilt(body);
  MR_TRY(rebuilt.run());
  Builder& builder = rebuilt.builder();
  std::vector<Endpoint> ys, xs;
  GradientOptions options;
  for (size_t i = 0; i < body.returns.size(); ++i) {
    const Endpoint y = rebuilt.at(body.returns[i]);
    if (!has_gradient(builder.graph(), y)) continue;
    ys.push_back(y);
    options.grad_ys.push_back({static_cast<NodeId>(body.num_args + i), 0});
  }
  for (NodeId arg = 0; arg < body.num_args; ++arg)
    if (has_gradient(builder.graph(), {arg, 0})) xs.push_back({arg, 0});
  MR_ASSIGN(const std::vector<Gradient> by_xs, add_gradients(builder, ys, xs, options));
  FunctionBody made{.graph = Graph(body.graph.ops()),
                    .num_args = body.num_args + body.returns.size()};
  PlacedNodes nodes(builder, {.name = "by_args"});
  for (NodeId arg = 0, i = 0; arg < body.num_args; ++arg) {
    const bool is_x = has_gradient(builder.graph(), {arg, 0});
    const Gradient gradient = is_x ? by_xs[i++] : Gradient();
    Endpoint returned = gradient.dense;
    if (gradient.slices) {
      MR_ASSIGN(returned, densified(nodes, *gradient.slices));
    } else if (returned.node == kNoNode) {
      if (nodes.dtype({arg, 0}) == DType::resource) {
        return unimplemented("there is no gradient by the handle of argument ", arg);
      }
      MR_ASSIGN(returned, nodes.add("ZerosLike", {Endpoint{arg, 0}}));
    }
    made.returns.push_back(returned);
  }
  made.graph = builder.graph();
  return made;
}

}  // namespace millrace
