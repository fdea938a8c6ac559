#include "millrace/autodiff/gradients.h"

#include <algorithm>

#include "millrace/autodiff/between.h"
#include "millrace/autodiff/conditionals.h"
#include "millrace/autodiff/node_gradient.h"
#include "millrace/autodiff/placed_nodes.h"
#include "millrace/autodiff/sums.h"

namespace millrace {
namespace {

Status check_endpoints(const Graph& graph, std::span<const Endpoint> endpoints,
                       std::string_view what) {
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.node >= graph.size() || endpoint.output < 0 ||
        endpoint.output >= graph[endpoint.node].num_outputs()) {
      return invalid("gradients: ", what, " has output ", endpoint.output, " of node ",
                     endpoint.node, ", which is not there");
    }
  }
  return {};
}

class GradientWalk {
 public:
  GradientWalk(Builder& builder, std::span<const Endpoint> ys, std::span<const Endpoint> xs,
               const GradientOptions& options)
      : options_(options),
        between_(builder.graph(), ys, xs, options.stop_gradients),
        nodes_(builder, options) {}

  Result<std::vector<Gradient>> run(std::span<const Endpoint> ys, std::span<const Endpoint> xs) {
    MR_TRY(look_for_conditionals());
    for (size_t i = 0; i < ys.size(); ++i) MR_TRY(start(ys[i], i));
    const std::vector<NodeId>& order = between_.order();
    for (auto node = order.rbegin(); node != order.rend(); ++node) MR_TRY(pass(*node));
    std::vector<Gradient> by_xs;
    for (const Endpoint& x : xs) {
      MR_ASSIGN(Gradient gradient, arrived(x));
      if (!gradient.has_value() && options_.zeros_if_unconnected) {
        MR_ASSIGN(gradient.dense, zeros(x));
      }
      by_xs.push_back(gradient);
    }
    return by_xs;
  }

 private:
  const Graph& graph() const { return nodes_.graph(); }

  static bool chooses(Role role) { return role == Role::switch_ || role == Role::merge; }

  // While the graph is as the program made it.
  Status look_for_conditionals() {
    const auto is_on_the_way = [&](NodeId node) {
      return chooses(graph()[node].op->role) && between_.passes_on(node);
    };
    if (std::ranges::none_of(between_.order(), is_on_the_way)) return {};
    MR_ASSIGN(conditionals_, Conditionals::of(graph()));
    return {};
  }

  // What arrives at a y from outside.
  Status start(Endpoint y, size_t i) {
    const std::string name = str_cat("grad_ys_", i);
    const DType dtype = nodes_.dtype(y);
    nodes_.beside(y.node);
    Gradient gradient;
    if (i < options_.grad_ys.size() && options_.grad_ys[i].node != kNoNode) {
      const Endpoint given = options_.grad_ys[i];
      const DType type = nodes_.dtype(given);
      if (type != dtype) {
        return invalid("gradients: grad_ys[", i, "] is ", dtype_name(type), "; its y, '",
                       endpoint_name(graph(), y), "', is ", dtype_name(dtype));
      }
      MR_ASSIGN(gradient.dense, nodes_.add("Identity", {given}, {}, name));
    } else {
      MR_ASSIGN(gradient.dense, ones(y, dtype, name));
    }
    arriving_[y].push_back(gradient);
    return {};
  }

  Result<Endpoint> ones(Endpoint y, DType dtype, std::string_view name) {
    if (is_complex(dtype)) {
      return invalid("gradients: '", endpoint_name(graph(), y), "' is ", dtype_name(dtype),
                     "; gradients of complex tensors must set grad_ys");
    }
    MR_ASSIGN(const Endpoint shape, nodes_.add("Shape", {y}));
    MR_ASSIGN(Tensor value, scalar_of(dtype, 1));
    MR_ASSIGN(const Endpoint one, nodes_.add_constant(std::move(value), name));
    return nodes_.add("Fill", {shape, one});
  }

  // For an x that no y depends on.
  Result<Endpoint> zeros(Endpoint x) {
    if (nodes_.dtype(x) == DType::resource) {
      return unimplemented("gradients: no y depends on '", endpoint_name(graph(), x),
                           "', and a handle says nothing of which zeros it wants; ask for the "
                           "gradient of what is read from it, or for none where there is none");
    }
    nodes_.beside(x.node);
    return nodes_.add("ZerosLike", {x});
  }

  // The sum of what has arrived at an output; nothing if nothing has.
  Result<Gradient> arrived(Endpoint output) {
    const auto found = arriving_.find(output);
    if (found == arriving_.end()) return Gradient();
    MR_ASSIGN(const Gradient sum, summed(nodes_, found->second, options_.aggregation));
    found->second = {sum};
    return sum;
  }

  // Hands on what has arrived at a node's outputs; all that consume them have been here.
  Status pass(NodeId id) {
    if (!between_.passes_on(id)) return {};
    nodes_.beside(id);
    std::vector<Gradient> arriving;
    bool any = false;
    for (int slot = 0; slot < graph()[id].num_outputs(); ++slot) {
      MR_ASSIGN(const Gradient gradient, arrived({id, slot}));
      any = any || gradient.has_value();
      arriving.push_back(gradient);
    }
    if (!any) return {};
    nodes_.enter_scope_of(id);
    MR_ASSIGN(std::vector<Gradient> leaving, handed_on(id, std::move(arriving)));
    if (options_.gate_gradients) MR_TRY(gate(leaving));
    nodes_.leave_scope();
    for (size_t slot = 0; slot < leaving.size(); ++slot) {
      if (leaving[slot].has_value()) arriving_[graph()[id].inputs[slot]].push_back(leaving[slot]);
    }
    return {};
  }

  Result<std::vector<Gradient>> handed_on(NodeId id, std::vector<Gradient> arriving) {
    const bool is_the_programs = options_.source != nullptr && options_.source->has(id);
    if (is_the_programs || !chooses(graph()[id].op->role))
      return NodeGradient(nodes_, between_, id, std::move(arriving)).ask(options_.source);
    return conditionals_->gradients(nodes_, id, arriving);
  }

  // Each as an Identity that waits for all of them.
  Status gate(std::vector<Gradient>& gradients) {
    const auto number = std::ranges::count_if(
        gradients, [](const Gradient& gradient) { return gradient.has_value(); });
    if (number < 2) return {};
    MR_ASSIGN(const Endpoint all, nodes_.add("NoOp", {}, {}, "tuple/group_deps"));
    for (Gradient& gradient : gradients) {
      if (!gradient.has_value()) continue;
      Endpoint& value = gradient.slices ? gradient.slices->values : gradient.dense;
      nodes_.builder().add_control_input(all.node, value.node);
      MR_ASSIGN(value, nodes_.add("Identity", {value}, {}, "tuple/control_dependency"));
      nodes_.builder().add_control_input(value.node, all.node);
    }
    return {};
  }

  const GradientOptions& options_;
  const Between between_;
  PlacedNodes nodes_;
  std::optional<Conditionals> conditionals_;  // if the walk will meet one
  absl::flat_hash_map<Endpoint, std::vector<Gradient>> arriving_;
};

}  // namespace

Result<std::vector<Gradient>> add_gradients(Builder& builder, std::span<const Endpoint> ys,
                                            std::span<const Endpoint> xs,
                                            const GradientOptions& options) {
  MR_TRY(check_endpoints(builder.graph(), ys, "ys"));
  MR_TRY(check_endpoints(builder.graph(), xs, "xs"));
  MR_TRY(check_endpoints(builder.graph(), options.stop_gradients, "stop_gradients"));
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    return invalid("gradients: there are ", options.grad_ys.size(), " grad_ys for ", ys.size(),
                   " ys");
  }
  for (const Endpoint& given : options.grad_ys)
    if (given.node != kNoNode) MR_TRY(check_endpoints(builder.graph(), {&given, 1}, "grad_ys"));
  return GradientWalk(builder, ys, xs, options).run(ys, xs);
}

}  // namespace millrace
