#include "millrace/autodiff/gradients.h"

#include <algorithm>

#include "millrace/autodiff/between.h"
#include "millrace/autodiff/conditionals.h"
#include "millrace/autodiff/loop_gradient.h"
#include "millrace/autodiff/loops.h"
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
    MR_TRY(look_for_control_flow(ys, xs));
    for (size_t i = 0; i < ys.size(); ++i) MR_TRY(start(ys[i], i));
    const std::vector<NodeId>& order = between_.order();
    for (auto node = order.rbegin(); node != order.rend(); ++node) MR_TRY(visit(*node));
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

  static bool is_of_loop(Role role) { return role == Role::enter || role == Role::exit; }
  static bool chooses(Role role) { return role == Role::switch_ || role == Role::merge; }

  // While the graph is as the program made it.
  Status look_for_control_flow(std::span<const Endpoint> ys, std::span<const Endpoint> xs) {
    const auto loops = [&](NodeId node) { return is_of_loop(graph()[node].op->role); };
    // A value may come to a loop by a stack alone: then the way from the xs is not seen yet.
    const auto matters = [&](NodeId node) {
      return loops(node) || (chooses(graph()[node].op->role) && between_.passes_on(node));
    };
    const std::vector<NodeId>& order = between_.order();
    if (std::ranges::none_of(order, matters)) return {};
    MR_ASSIGN(loops_, Loops::of(graph()));
    MR_ASSIGN(conditionals_, Conditionals::of(graph(), *loops_));
    if (std::ranges::none_of(order, loops)) return {};
    between_ = Between(graph(), ys, xs, options_.stop_gradients, &*loops_);
    return find_home(ys, xs);
  }

  // Where the ys are is the inside: of no loop, or of the one that the program is in.
  Status find_home(std::span<const Endpoint> ys, std::span<const Endpoint> xs) {
    const auto frame_of = [&](Endpoint of) {
      return loops_->frames().of_outputs(graph()[of.node]);
    };
    uint32_t home = FrameTable::kRoot;
    for (const Endpoint& y : ys)
      if (loops_->is_inside(frame_of(y), home)) home = frame_of(y);
    reversed_.emplace(nodes_, *loops_, *conditionals_, home);
    for (const auto& [endpoints, what] : {std::pair(ys, "y"), std::pair(xs, "x")}) {
      for (const Endpoint& each : endpoints) {
        if (reversed_->is_home(frame_of(each))) continue;
        return invalid("gradients: the ", what, " '", endpoint_name(graph(), each),
                       "' is in the loop '", loops_->frames().frames()[frame_of(each)].name,
                       "', in which there is another value in each iteration; use what the loop "
                       "returns, or ask inside of its body");
      }
    }
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

  // Hands on what has arrived at a node's outputs, in the reversal of the loop that it is in; all
  // that consume them have been here.
  Status visit(NodeId id) {
    if (!reversed_) return pass(id);
    const Node& node = graph()[id];
    const uint32_t frame = loops_->frames().of(id);
    if (reversed_->is_home(frame)) return pass(id);
    if (node.op->role == Role::exit) return leave(node, frame);
    if (!between_.passes_on(id)) return {};
    if (begun_.insert(frame).second) MR_TRY(begin(frame));
    if (!is_reversed_.contains(frame)) return {};
    MR_ASSIGN(const std::shared_ptr<LoopGradient> reversed, reversed_->of(frame));
    std::shared_ptr<ReversedPlace> outside = nodes_.run_in(reversed);
    Status passed = pass_inside(id, *reversed);
    nodes_.leave_scope();
    nodes_.run_in(std::move(outside));
    return passed;
  }

  // What arrives at an Exit goes round in the reversed loop from its begin.
  Status leave(const Node& exit, uint32_t frame) {
    const Endpoint source = exit.inputs[0];
    const NodeId id = exit.id;
    if (!between_.passes_on(id)) return {};
    MR_ASSIGN(const std::shared_ptr<LoopGradient> around, around_of(frame));
    std::shared_ptr<ReversedPlace> here = nodes_.run_in(around);
    nodes_.beside(id);
    const Result<Gradient> gradient = arrived({id, 0});
    nodes_.run_in(std::move(here));
    MR_TRY(gradient.status());
    if (!gradient->has_value()) return {};
    is_reversed_.insert(frame);
    const Node& parted = graph()[source.node];
    const bool leaves_loop = loops_->ends_iteration(graph(), parted) && source.output == 0;
    const LoopVariable* variable =
        leaves_loop ? loops_->headed_by(behind_identities(graph(), parted.inputs[0]).node)
                    : nullptr;
    if (variable == nullptr) {
      return unimplemented("the gradient of '", graph()[id].name,
                           "' (op type: ", graph()[id].op->name,
                           ") can't be made: what leaves the loop is no "
                           "variable of it");
    }
    after_loop_[variable->merge].push_back(*gradient);
    return {};
  }

  Result<std::shared_ptr<LoopGradient>> around_of(uint32_t frame) {
    return reversed_->of(loops_->frames().frames()[frame].parent);
  }

  // All Exits of the loop have been visited, and nothing else of it.
  Status begin(uint32_t frame) {
    if (!is_reversed_.contains(frame)) return {};
    nodes_.beside(kNoNode);
    nodes_.enter_scope_of(loops_->loop(frame).cond);
    MR_ASSIGN(const std::shared_ptr<LoopGradient> reversed, reversed_->of(frame));
    MR_ASSIGN(const std::shared_ptr<LoopGradient> around, around_of(frame));
    for (const LoopVariable* variable : going_round(frame)) {
      Gradient gradient;
      std::shared_ptr<ReversedPlace> here = nodes_.run_in(around);
      Status status;
      if (const auto found = after_loop_.find(variable->merge); found != after_loop_.end()) {
        Result<Gradient> sum = summed(nodes_, found->second, options_.aggregation);
        status = sum.status();
        if (sum.ok()) gradient = *sum;
      }
      nodes_.run_in(reversed);
      if (status.ok()) {
        Result<Endpoint> inside = reversed->open(*variable, gradient);
        status = inside.status();
        if (inside.ok()) arriving_[graph()[variable->next].inputs[0]].push_back({.dense = *inside});
      }
      nodes_.run_in(std::move(here));
      MR_TRY(status);
    }
    nodes_.leave_scope();
    return {};
  }

  // The variables of a loop by which gradients go back: those that have one after the loop, and
  // those that they are computed from in an iteration.
  std::vector<const LoopVariable*> going_round(uint32_t frame) const {
    std::vector<const LoopVariable*> found;
    absl::flat_hash_set<NodeId> met;
    std::vector<NodeId> open;
    const auto meet = [&](Endpoint of) {
      if (between_.leads_to_x(graph(), of) && met.insert(of.node).second) open.push_back(of.node);
    };
    for (const LoopVariable& variable : loops_->loop(frame).variables)
      if (after_loop_.contains(variable.merge)) meet({variable.merge, 0});
    const auto meet_kept = [&](NodeId push) { meet(graph()[push].inputs[1]); };
    for (const NodeId push : kept_)
      if (loops_->is_inside(loops_->frames().of(push), frame)) meet_kept(push);
    while (!open.empty()) {
      const Node& node = graph()[open.back()];
      open.pop_back();
      if (node.op->role == Role::enter && loops_->frames().of(node.id) == frame) continue;
      if (const LoopVariable* variable = loops_->headed_by(node.id);
          variable != nullptr && loops_->frames().of(node.id) == frame)
        found.push_back(variable);
      if (!between_.passes_on(node.id)) continue;
      std::ranges::for_each(node.inputs, meet);
      std::ranges::for_each(loops_->pushes_of(node.id), meet_kept);
    }
    return found;
  }

  // May enter a scope; visit() leaves it.
  Status pass_inside(NodeId id, LoopGradient& reversed) {
    const Node& node = graph()[id];
    const Endpoint source = node.inputs.empty() ? Endpoint() : node.inputs[0];
    if (node.op->role == Role::next_iteration) return {};
    if (const LoopVariable* variable = loops_->headed_by(id)) return close(*variable, reversed);
    if (node.op->role == Role::enter) return enter(id, reversed);
    if (!loops_->pushes_of(id).empty()) return keep_back(id, reversed);
    if (!loops_->pops_of(id).empty()) return take_back(id, reversed);
    if (!loops_->ends_iteration(graph(), node)) return pass(id);
    MR_ASSIGN(const Gradient gradient, arrived({id, 1}));
    if (gradient.has_value()) arriving_[source].push_back(gradient);
    return {};
  }

  // What arrives at a value that a stack brought goes on to where it came from by another stack.
  Status keep_back(NodeId pop, LoopGradient& reversed) {
    nodes_.enter_scope_of(pop);
    MR_ASSIGN(const Gradient gradient, arrived({pop, 0}));
    if (!gradient.has_value()) return {};
    MR_ASSIGN(kept_back_[pop], reversed.keep_back(gradient));
    for (const NodeId push : loops_->pushes_of(pop)) {
      uint32_t frame = loops_->frames().of(push);
      for (; !reversed_->is_home(frame); frame = loops_->frames().frames()[frame].parent)
        is_reversed_.insert(frame);
      if (std::ranges::find(kept_, push) == kept_.end()) kept_.push_back(push);
    }
    return {};
  }

  Status take_back(NodeId push, LoopGradient& reversed) {
    const Endpoint value = graph()[push].inputs[1];
    nodes_.enter_scope_of(push);
    MR_ASSIGN(const Gradient handed_on, arrived({push, 0}));
    if (handed_on.has_value()) arriving_[value].push_back(handed_on);
    for (const NodeId pop : loops_->pops_of(push)) {
      const auto kept = kept_back_.find(pop);
      if (kept == kept_back_.end()) continue;
      MR_ASSIGN(const std::shared_ptr<LoopGradient> from, reversed_->of(loops_->frames().of(pop)));
      MR_ASSIGN(const Endpoint gradient, reversed.take_back(kept->second, value, *from));
      arriving_[value].push_back({.dense = gradient});
    }
    return {};
  }

  Status close(const LoopVariable& variable, LoopGradient& reversed) {
    nodes_.enter_scope_of(variable.merge);
    MR_ASSIGN(const Gradient total, arrived({variable.merge, 0}));
    if (!reversed.is_open(variable)) {
      if (!total.has_value()) return {};
      return unimplemented("the gradient of '", graph()[variable.merge].name,
                           "' (op type: Merge) can't be made: a gradient arrives at a variable of "
                           "the loop that none goes round in");
    }
    MR_ASSIGN(const Gradient before, reversed.close(variable, total));
    before_loop_[variable.enter] = before;
    return {};
  }

  // What arrives at an Enter leaves the reversed loop: once, if it is a variable's, else as the sum
  // over all iterations.
  Status enter(NodeId id, LoopGradient& reversed) {
    const Node& node = graph()[id];
    const Endpoint source = node.inputs[0];
    nodes_.beside(id);
    nodes_.enter_scope_of(id);
    if (const auto found = before_loop_.find(id); found != before_loop_.end())
      arriving_[source].push_back(found->second);
    MR_ASSIGN(const Gradient gradient, arrived({id, 0}));
    if (!gradient.has_value()) return {};
    const auto is_constant = node.attr_view().boolean("is_constant");
    if (!is_constant.ok() || !*is_constant) {
      return unimplemented("the gradient of '", node.name, "' (op type: ", node.op->name,
                           ") can't be made: it is used as it enters the loop, not as a variable");
    }
    MR_ASSIGN(const Gradient total, reversed.total(graph()[id], gradient));
    arriving_[source].push_back(total);
    return {};
  }

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
    const Role role = graph()[id].op->role;
    // Asked inside of a loop for what comes from outside: it is the same in each iteration.
    if (role == Role::enter) return arriving;
    if (role == Role::merge && is_head_of_loop(id)) {
      return unimplemented("the gradient of '", graph()[id].name,
                           "' (op type: Merge) can't be made: gradients that are asked for inside "
                           "of a loop don't go through its iterations");
    }
    const bool is_the_programs = options_.source != nullptr && options_.source->has(id);
    if (is_the_programs || !chooses(role))
      return NodeGradient(nodes_, between_, id, std::move(arriving)).ask(options_.source);
    return conditionals_->gradients(nodes_, id, arriving);
  }

  bool is_head_of_loop(NodeId merge) const {
    return std::ranges::any_of(graph()[merge].inputs, [&](const Endpoint& input) {
      return graph()[input.node].op->role == Role::enter;
    });
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
  Between between_;
  PlacedNodes nodes_;
  // If the walk will meet any.
  std::optional<Loops> loops_;
  std::optional<Conditionals> conditionals_;
  std::optional<LoopGradients> reversed_;
  absl::flat_hash_set<uint32_t> is_reversed_;  // frames that a gradient arrives at
  absl::flat_hash_set<uint32_t> begun_;
  absl::flat_hash_map<NodeId, Endpoint> kept_back_;  // by a pop, the stack of its gradients
  std::vector<NodeId> kept_;                         // pushes whose pops have gradients
  absl::flat_hash_map<NodeId, std::vector<Gradient>> after_loop_;  // by the Merge of a variable
  absl::flat_hash_map<NodeId, Gradient> before_loop_;              // by the Enter of a variable
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
