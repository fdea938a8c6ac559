// Part of loop_gradient.h: what comes of an iteration into the reversed loop.
#include "millrace/autodiff/loop_gradient.h"
#include "millrace/autodiff/sums.h"

namespace millrace {
namespace {

// Constants up to this size are made again; a larger one is kept on a stack, where it is shared.
constexpr int64_t kSmall = 64;

}  // namespace

Status LoopGradient::admit(std::vector<Endpoint>& inputs, std::vector<NodeId>& before) {
  for (Endpoint& input : inputs) {
    MR_ASSIGN(input, bring(input));
  }
  // What the program waits for outside, the whole loop does.
  std::erase_if(before, [&](NodeId node) { return all_.place_of({node, 0}).reversed != this; });
  if (inputs.empty() && before.empty()) before.push_back(now_.node);
  return {};
}

// What is the same in each iteration: it comes in from outside as it is.
bool LoopGradient::is_invariant(Endpoint of) const {
  const Node& node = graph()[behind_identities(graph(), of).node];
  if (node.op->role != Role::enter) return false;
  const auto is_constant = node.attr_view().boolean("is_constant");
  return is_constant.ok() && *is_constant;
}

Result<std::optional<Endpoint>> LoopGradient::told_of(Endpoint of, std::string_view op,
                                                      const Attrs& attrs) {
  const LoopGradients::Place place = all_.place_of(of);
  if (place.is_made || place.frame != frame_ || is_invariant(of)) return std::optional<Endpoint>();
  const AttrValue* type = attrs.find("out_type");
  const std::string key =
      str_cat(op, type != nullptr && *type == AttrValue(DType::i64) ? " of int64" : "");
  const auto known = told_.find({of, key});
  if (known != told_.end()) return std::optional(known->second);
  MR_ASSIGN(const Endpoint made,
            add_forward({.op = op, .inputs = {of}, .attrs = attrs}, frame_, place.branch));
  told_[{of, key}] = made;
  return std::optional(made);
}

Result<Endpoint> LoopGradient::bring(Endpoint of) {
  const LoopGradients::Place place = all_.place_of(of);
  if (place.reversed == this) return of;
  const auto known = known_.find(of);
  if (known != known_.end()) return known->second;
  const bool is_of_loop = !place.is_made && place.frame == frame_;
  MR_ASSIGN(const Endpoint made, is_of_loop ? recall(of) : bring_from_outside(of));
  known_[of] = made;
  return made;
}

Result<Endpoint> LoopGradient::bring_from_outside(Endpoint of) {
  if (outer_) {
    MR_ASSIGN(of, outer_->bring(of));
  } else {
    const LoopGradients::Place place = all_.place_of(of);
    if (place.reversed != nullptr || !all_.is_home(place.frame)) {
      return internal("gradients: '", endpoint_name(graph(), of), "' is in a loop that '",
                      all_.loops_.frames().frames()[frame_].name, "' is not in");
    }
    if (!place.is_made) {
      MR_ASSIGN(of, all_.nodes_.let_in(of));
    }
  }
  return add_inside({.op = "Enter", .inputs = {of}, .attrs = frame_attrs(true)});
}

Result<Endpoint> LoopGradient::recall(Endpoint of) {
  PlacedNodes& nodes = all_.nodes_;
  const Endpoint source = behind_identities(graph(), of);
  if (source != of) return bring(source);
  if (is_invariant(of)) return bring(Endpoint(graph()[of.node].inputs[0]));
  const std::optional<Tensor> constant = nodes.builder().constant(of);
  if (constant && constant->num_elements() <= kSmall) {
    return add_inside({.op = "Const",
                       .attrs = {{"value", *constant}, {"dtype", constant->dtype()}},
                       .after = {now_.node}});
  }
  return kept_on_stack(of);
}

Result<Endpoint> LoopGradient::stack_for(Endpoint of) {
  PlacedNodes& nodes = all_.nodes_;
  std::shared_ptr<ReversedPlace> here = nodes.run_in(nullptr);
  Result<Endpoint> made = [&]() -> Result<Endpoint> {
    MR_ASSIGN(const Endpoint any, nodes.add_constant(Tensor::scalar<int32_t>(-1)));
    return nodes.add("StackV2", {any}, {{"elem_type", nodes.dtype(of)}}, "f_acc");
  }();
  nodes.run_in(std::move(here));
  if (!made.ok()) return made;
  // Large values stay where they are made.
  const std::string device(graph()[of.node].requested_device());
  if (!device.empty()) nodes.builder().set_requested_device(made->node, device);
  return made;
}

Result<Endpoint> LoopGradient::kept_on_stack(Endpoint of) {
  const BranchId branch = all_.place_of(of).branch;
  MR_ASSIGN(const Endpoint stack, stack_for(of));
  MR_ASSIGN(const Endpoint handle, all_.enter_forward(stack, frame_));
  Endpoint element = of;
  const Conditionals& conditionals = all_.conditionals_;
  if (conditionals[branch].depth < conditionals[body()].depth) {
    // The condition's values are there once more than the iterations.
    MR_ASSIGN(element,
              add_forward({.op = "Switch", .inputs = {of, {loop().cond, 0}}}, frame_, branch));
    element.output = 1;
  }
  MR_ASSIGN(
      const Endpoint push,
      add_forward({.op = "StackPushV2", .inputs = {handle, element}, .after = {forward_now_.node}},
                  frame_, branch));
  MR_TRY(finish_before_next(push.node, forward_sync_, forward_step_, true));
  return popped(stack, of);
}

// What is on the stack, where and when `of` is alive in the loop.
Result<Endpoint> LoopGradient::popped(Endpoint stack, Endpoint of) {
  PlacedNodes& nodes = all_.nodes_;
  MR_ASSIGN(const Endpoint entered, bring_from_outside(stack));
  MR_ASSIGN(const Endpoint alive, where_alive(entered, all_.place_of(of).branch));
  MR_ASSIGN(const Endpoint pop, add_inside({.op = "StackPopV2",
                                            .inputs = {alive},
                                            .attrs = {{"elem_type", nodes.dtype(of)}},
                                            .after = {now_.node}}));
  nodes.builder().replace_shape(pop, nodes.builder().shape(of));
  MR_TRY(finish_before_next(pop.node, sync_, step_, false));
  return pop;
}

// The reversal of a reversed loop goes the way of the loop itself: what it pushes in that order is
// popped in the order of the loop's own reversal.
Result<Endpoint> LoopGradient::keep_back(const Gradient& gradient) {
  PlacedNodes& nodes = all_.nodes_;
  Endpoint value = gradient.dense;
  if (gradient.slices) {
    MR_ASSIGN(value, densified(nodes, *gradient.slices));
  }
  MR_ASSIGN(const Endpoint stack, stack_for(value));
  MR_ASSIGN(const Endpoint handle, bring_from_outside(stack));
  MR_ASSIGN(const Endpoint push,
            add_inside({.op = "StackPushV2", .inputs = {handle, value}, .after = {now_.node}}));
  MR_TRY(finish_before_next(push.node, sync_, step_, false));
  return stack;
}

Result<Endpoint> LoopGradient::take_back(Endpoint stack, Endpoint of, LoopGradient& from) {
  // Of the loops around both, those that are side by side come one after the other.
  const auto depth_of = [](const LoopGradient* loop) {
    int depth = 0;
    for (; loop != nullptr; loop = loop->outer_.get()) ++depth;
    return depth;
  };
  LoopGradient *mine = this, *other = &from;
  while (depth_of(mine) > depth_of(other)) mine = mine->outer_.get();
  while (depth_of(other) > depth_of(mine)) other = other->outer_.get();
  while (mine->outer_ != other->outer_) {
    mine = mine->outer_.get();
    other = other->outer_.get();
  }
  MR_ASSIGN(const NodeId over, other->done());
  all_.nodes_.builder().add_control_input(mine->entered_.node, over);
  return popped(stack, of);
}

Result<Endpoint> LoopGradient::where_alive(Endpoint handle, BranchId branch) {
  const Conditionals& conditionals = all_.conditionals_;
  if (conditionals[branch].depth <= conditionals[body()].depth) return handle;
  const Conditionals::Branch inner = conditionals[branch];
  MR_ASSIGN(handle, where_alive(handle, inner.parent));
  MR_ASSIGN(const Endpoint predicate, bring(inner.predicate));
  MR_ASSIGN(Endpoint sent, add_inside({.op = inner.sender(),
                                       .inputs = {handle, predicate},
                                       .attrs = inner.sender_attrs()}));
  sent.output = inner.side;
  return sent;
}

}  // namespace millrace
