#include "millrace/autodiff/loop_gradient.h"

#include <algorithm>
#include <limits>

#include "millrace/autodiff/sums.h"

namespace millrace {
LoopGradients::LoopGradients(PlacedNodes& nodes, const Loops& loops,
                             const Conditionals& conditionals, uint32_t home)
    : nodes_(nodes),
      loops_(loops),
      conditionals_(conditionals),
      home_(home),
      first_made_(nodes.graph().size()) {}

Result<std::shared_ptr<LoopGradient>> LoopGradients::of(uint32_t frame) {
  if (is_home(frame)) return std::shared_ptr<LoopGradient>();
  const auto found = by_frame_.find(frame);
  if (found != by_frame_.end()) return found->second;
  MR_ASSIGN(std::shared_ptr<LoopGradient> outer, of(loops_.frames().frames()[frame].parent));
  auto made = std::make_shared<LoopGradient>(*this, frame, std::move(outer));
  by_frame_[frame] = made;
  MR_TRY(made->begin());
  return made;
}

LoopGradients::Place LoopGradients::place_of(Endpoint of) const {
  const Graph& graph = nodes_.graph();
  if (of.node >= first_made_) {
    const auto found = made_.find(of.node);
    return found != made_.end() ? found->second : Place{.frame = home_, .is_made = true};
  }
  return {.frame = loops_.frames().of_outputs(graph[of.node]),
          .branch = conditionals_.of_output(graph, of)};
}

Result<Endpoint> LoopGradients::enter_forward(Endpoint value, uint32_t frame) {
  if (is_home(frame)) return value;
  MR_ASSIGN(value, enter_forward(value, loops_.frames().frames()[frame].parent));
  const Node& first = nodes_.graph()[loops_.frames().frames()[frame].enter];
  MR_ASSIGN(const int64_t parallel, first.attr_view().integer("parallel_iterations"));
  return nodes_.add_plumbing({.op = "Enter",
                              .inputs = {value},
                              .attrs = {{"frame_name", loops_.frames().frames()[frame].name},
                                        {"is_constant", true},
                                        {"parallel_iterations", parallel}}});
}

LoopGradient::LoopGradient(LoopGradients& all, uint32_t frame, std::shared_ptr<LoopGradient> outer)
    : all_(all), frame_(frame), outer_(std::move(outer)) {}

template <class Run>
auto LoopGradient::outside(Run&& run) {
  std::shared_ptr<ReversedPlace> here = all_.nodes_.run_in(outer_);
  auto made = std::forward<Run>(run)();
  all_.nodes_.run_in(std::move(here));
  return made;
}

// --- nodes of control flow itself ---

Attrs LoopGradient::frame_attrs(bool is_constant) const {
  const Node& first = graph()[all_.loops_.frames().frames()[frame_].enter];
  const auto parallel = first.attr_view().integer("parallel_iterations");
  return {{"frame_name", name_},
          {"is_constant", is_constant},
          {"parallel_iterations", parallel.ok() ? *parallel : int64_t{10}}};
}

Result<Endpoint> LoopGradient::add_inside(PlacedNodes::Plumbing node) {
  MR_ASSIGN(const Endpoint made, all_.nodes_.add_plumbing(std::move(node)));
  added(made.node);
  return made;
}

Result<Endpoint> LoopGradient::add_forward(PlacedNodes::Plumbing node, uint32_t frame,
                                           BranchId branch) {
  MR_ASSIGN(const Endpoint made, all_.nodes_.add_plumbing(std::move(node)));
  all_.made_[made.node] = {.frame = frame, .branch = branch};
  return made;
}

Result<Endpoint> LoopGradient::add_outside(PlacedNodes::Plumbing node) {
  MR_ASSIGN(const Endpoint made, all_.nodes_.add_plumbing(std::move(node)));
  if (outer_) outer_->added(made.node);
  return made;
}

void LoopGradient::added(NodeId node) {
  all_.made_[node] = {.frame = frame_, .reversed = this, .is_made = true};
}

LoopGradient::BranchId LoopGradient::body() const {
  for (const LoopVariable& variable : loop().variables)
    if (variable.switch_ != kNoNode)
      return all_.conditionals_.of_output(graph(), {variable.switch_, 1});
  return Conditionals::kOutside;
}

// --- counting ---

Status LoopGradient::begin() {
  if (loop().cond == kNoNode) {
    return unimplemented("gradients don't go through the loop '",
                         all_.loops_.frames().frames()[frame_].name, "', which has no LoopCond");
  }
  std::shared_ptr<ReversedPlace> here = all_.nodes_.run_in(outer_);
  Status begun = [&]() -> Status {
    MR_ASSIGN(const Endpoint count, count_forward());
    if (outer_) {
      MR_ASSIGN(count_, outer_->bring(count));
    } else {
      MR_ASSIGN(count_, all_.nodes_.let_in(count));
    }
    return count_back(count_);
  }();
  all_.nodes_.run_in(std::move(here));
  return begun;
}

// A node that runs, where the loop is, when the loop does.
Result<NodeId> LoopGradient::anchor_outside() {
  Endpoint deepest;
  uint32_t depth = 0;
  for (const LoopVariable& variable : loop().variables) {
    const Endpoint source = graph()[variable.enter].inputs[0];
    const uint32_t at = all_.conditionals_[all_.place_of(source).branch].depth;
    if (at <= depth) continue;
    deepest = source;
    depth = at;
  }
  if (deepest.node == kNoNode) return kNoNode;
  if (graph()[deepest.node].op->role != Role::switch_) return deepest.node;
  // A Switch itself runs in any case; what takes its output does not.
  MR_ASSIGN(const Endpoint alive, add_forward({.op = "Identity", .inputs = {deepest}},
                                              all_.loops_.frames().frames()[frame_].parent,
                                              all_.place_of(deepest).branch));
  return alive.node;
}

// The number of iterations, after the loop.
Result<Endpoint> LoopGradient::count_forward() {
  PlacedNodes& nodes = all_.nodes_;
  const uint32_t parent = all_.loops_.frames().frames()[frame_].parent;
  const BranchId here = all_.conditionals_.of_output(graph(), {loop().cond, 0});
  MR_ASSIGN(const NodeId anchor, anchor_outside());
  std::vector<NodeId> after;
  if (anchor != kNoNode) after.push_back(anchor);
  if (outer_) after.push_back(outer_->forward_now_.node);
  Endpoint zero;
  if (after.empty()) {
    MR_ASSIGN(zero, nodes.add_constant(Tensor::scalar<int32_t>(0)));
  } else {
    const auto number = Tensor::scalar<int32_t>(0);
    MR_ASSIGN(zero, add_forward({.op = "Const",
                                 .attrs = {{"value", number}, {"dtype", DType::i32}},
                                 .after = after},
                                parent, here));
  }
  const Node& first = graph()[all_.loops_.frames().frames()[frame_].enter];
  MR_ASSIGN(const int64_t parallel, first.attr_view().integer("parallel_iterations"));
  const auto add = [&](PlacedNodes::Plumbing node) {
    return add_forward(std::move(node), frame_, body());
  };
  MR_ASSIGN(const Endpoint entered,
            add({.op = "Enter",
                 .inputs = {zero},
                 .attrs = {{"frame_name", all_.loops_.frames().frames()[frame_].name},
                           {"is_constant", false},
                           {"parallel_iterations", parallel}},
                 .name = "f_count"}));
  MR_ASSIGN(const Endpoint merged,
            add({.op = "Merge", .inputs = {entered, entered}, .attrs = {{"N", int64_t{2}}}}));
  MR_ASSIGN(const Endpoint parted, add({.op = "Switch", .inputs = {merged, {loop().cond, 0}}}));
  MR_ASSIGN(forward_now_, add({.op = "Identity", .inputs = {{parted.node, 1}}}));
  MR_ASSIGN(const Endpoint one,
            add({.op = "Const",
                 .attrs = {{"value", Tensor::scalar<int32_t>(1)}, {"dtype", DType::i32}},
                 .after = {forward_now_.node}}));
  MR_ASSIGN(forward_step_, add({.op = "Add", .inputs = {forward_now_, one}}));
  MR_ASSIGN(const Endpoint next, add({.op = "NextIteration", .inputs = {forward_step_}}));
  MR_TRY(nodes.builder().set_input(merged.node, 1, next));
  return add_forward({.op = "Exit", .inputs = {parted}, .name = "f_count"}, parent, here);
}

Status LoopGradient::count_back(Endpoint count) {
  PlacedNodes& nodes = all_.nodes_;
  name_ = nodes.builder().claim_name(
      str_cat(nodes.root(), "/", all_.loops_.frames().frames()[frame_].name));
  MR_ASSIGN(
      entered_,
      add_inside(
          {.op = "Enter", .inputs = {count}, .attrs = frame_attrs(false), .name = "b_count"}));
  MR_ASSIGN(merged_, add_inside({.op = "Merge",
                                 .inputs = {entered_, entered_},
                                 .attrs = {{"N", int64_t{2}}},
                                 .name = "b_count"}));
  MR_ASSIGN(const Endpoint one,
            add_inside({.op = "Const",
                        .attrs = {{"value", Tensor::scalar<int32_t>(1)}, {"dtype", DType::i32}},
                        .after = {merged_.node}}));
  MR_ASSIGN(const Endpoint more, add_inside({.op = "GreaterEqual", .inputs = {merged_, one}}));
  MR_ASSIGN(cond_, add_inside({.op = "LoopCond", .inputs = {more}, .name = "b_count"}));
  MR_ASSIGN(parted_, add_inside({.op = "Switch", .inputs = {merged_, cond_}}));
  MR_ASSIGN(now_, add_inside({.op = "Identity", .inputs = {{parted_.node, 1}}}));
  MR_ASSIGN(step_, add_inside({.op = "Sub", .inputs = {now_, one}}));
  MR_ASSIGN(const Endpoint next, add_inside({.op = "NextIteration", .inputs = {step_}}));
  MR_TRY(nodes.builder().set_input(merged_.node, 1, next));
  if (!outer_) return {};
  // Pops of an outer iteration come after those of the one that was later.
  MR_ASSIGN(const NodeId over, done());
  return outer_->finish_before_next(over, outer_->sync_, outer_->step_, false);
}

Result<NodeId> LoopGradient::done() {
  if (done_.node == kNoNode) {
    MR_ASSIGN(done_, add_outside({.op = "Exit", .inputs = {parted_}, .name = "b_count"}));
  }
  return done_.node;
}

Status LoopGradient::finish_before_next(NodeId node, Endpoint& sync, Endpoint step,
                                        bool is_forward) {
  Builder& builder = all_.nodes_.builder();
  if (sync.node == kNoNode) {
    // It runs even where a branch that was not taken has nothing to push.
    MR_ASSIGN(sync, all_.nodes_.add_plumbing({.op = "ControlTrigger", .after = {node}}));
    all_.made_[sync.node] = {
        .frame = frame_, .reversed = is_forward ? nullptr : this, .is_made = !is_forward};
    builder.add_control_input(step.node, sync.node);
    return {};
  }
  builder.add_control_input(sync.node, node);
  return {};
}

// --- variables ---

Result<LoopGradient::Around> LoopGradient::go_round(Endpoint initial, PartialShape shape) {
  Around around;
  MR_ASSIGN(const Endpoint entered,
            add_inside({.op = "Enter", .inputs = {initial}, .attrs = frame_attrs(false)}));
  MR_ASSIGN(
      around.merged,
      add_inside({.op = "Merge", .inputs = {entered, entered}, .attrs = {{"N", int64_t{2}}}}));
  all_.nodes_.builder().replace_shape(around.merged, shape);
  MR_ASSIGN(const Endpoint parted, add_inside({.op = "Switch", .inputs = {around.merged, cond_}}));
  around.inside = {parted.node, 1};
  MR_ASSIGN(around.after, add_outside({.op = "Exit", .inputs = {parted}}));
  return around;
}

Status LoopGradient::come_round(const Around& around, Endpoint next) {
  MR_ASSIGN(next, bring(next));
  MR_ASSIGN(const Endpoint following, add_inside({.op = "NextIteration", .inputs = {next}}));
  return all_.nodes_.builder().set_input(around.merged.node, 1, following);
}

// Zeros like the value that a variable has after the loop.
Result<Endpoint> LoopGradient::zeros_after(const LoopVariable& variable) {
  PlacedNodes& nodes = all_.nodes_;
  const Endpoint value = {variable.merge, 0};
  if (const auto shape = nodes.builder().shape(value).to_shape())
    return nodes.zeros(nodes.dtype(value), *shape);
  MR_ASSIGN(const Endpoint last,
            add_forward({.op = "Exit", .inputs = {{variable.switch_, 0}}},
                        all_.loops_.frames().frames()[frame_].parent,
                        all_.conditionals_.of_output(graph(), {loop().cond, 0})));
  return nodes.zeros_like(last);
}

Result<Endpoint> LoopGradient::open(const LoopVariable& variable, const Gradient& arriving) {
  PlacedNodes& nodes = all_.nodes_;
  const Endpoint value = {variable.merge, 0};
  Endpoint initial = arriving.dense;
  if (arriving.slices) {
    MR_ASSIGN(initial, outside([&] { return densified(nodes, *arriving.slices); }));
  } else if (initial.node == kNoNode) {
    MR_ASSIGN(initial, outside([&] { return zeros_after(variable); }));
  }
  MR_ASSIGN(const Around around, go_round(initial, nodes.builder().shape(value)));
  open_[variable.merge] = around;
  return around.inside;
}

Result<Gradient> LoopGradient::close(const LoopVariable& variable, const Gradient& total) {
  PlacedNodes& nodes = all_.nodes_;
  const Around around = open_.at(variable.merge);
  Endpoint next = total.dense;
  if (total.slices) {
    MR_ASSIGN(next, densified(nodes, *total.slices));
  } else if (next.node == kNoNode) {
    MR_ASSIGN(next, nodes.zeros_like({variable.merge, 0}));
  }
  MR_TRY(come_round(around, next));
  return Gradient{.dense = around.after};
}

// --- what is the same in each iteration ---

Result<Endpoint> LoopGradient::shape_outside(Endpoint of) {
  PlacedNodes& nodes = all_.nodes_;
  if (nodes.dtype(of) == DType::resource) return nodes.add("VariableShape", {of});
  const auto shape = nodes.builder().shape(of).to_shape();
  if (!shape) return nodes.add("Shape", {of});
  std::vector<int32_t> dims;
  for (const int64_t dim : shape->dims()) {
    if (dim > std::numeric_limits<int32_t>::max()) return nodes.add("Shape", {of});
    dims.push_back(static_cast<int32_t>(dim));
  }
  return nodes.add_constant(Tensor::vector<int32_t>(std::span<const int32_t>(dims)));
}

Result<Endpoint> LoopGradient::zeros_outside(const Node& enter, Endpoint like) {
  PlacedNodes& nodes = all_.nodes_;
  MR_ASSIGN(Tensor zero, scalar_of(nodes.dtype(like), 0));
  if (const auto shape = nodes.builder().shape(like).to_shape())
    return nodes.zeros(nodes.dtype(like), *shape);
  MR_ASSIGN(const Endpoint dims, shape_outside(enter.inputs[0]));
  MR_ASSIGN(const Endpoint each, nodes.add_constant(std::move(zero)));
  return nodes.add("Fill", {dims, each});
}

Result<Gradient> LoopGradient::total(const Node& enter, const Gradient& arriving) {
  const Node source = enter;  // adding nodes moves the graph's
  if (arriving.slices) return total_of_slices(source, *arriving.slices);
  PlacedNodes& nodes = all_.nodes_;
  MR_ASSIGN(const Endpoint none, outside([&] { return zeros_outside(source, arriving.dense); }));
  PartialShape shape = nodes.builder().shape(arriving.dense);
  MR_ASSIGN(const Around around, go_round(none, std::move(shape)));
  MR_ASSIGN(const Endpoint sum,
            nodes.add("AddN", {around.inside, arriving.dense}, {{"N", int64_t{2}}}));
  MR_TRY(come_round(around, sum));
  return Gradient{.dense = around.after};
}

// Each iteration's rows and indices go into arrays, which are joined after the loop: a sum that
// grows by rows would copy all of them each time. No rows at all come first, so that a loop without
// iterations has a sum.
Result<Gradient> LoopGradient::total_of_slices(const Node& enter, const IndexedSlices& slices) {
  PlacedNodes& nodes = all_.nodes_;
  struct Parts {
    Endpoint array, flow;
  };
  const DType types[2] = {nodes.dtype(slices.values), nodes.dtype(slices.indices)};
  const Endpoint parts[2] = {slices.values, slices.indices};
  Parts arrays[2];
  Endpoint shape;
  const Status begun = outside([&]() -> Status {
    MR_ASSIGN(shape, shape_outside(enter.inputs[0]));
    MR_ASSIGN(const Endpoint one, nodes.add_constant(Tensor::scalar<int32_t>(1)));
    MR_ASSIGN(const Endpoint zero, nodes.add_constant(Tensor::scalar<int32_t>(0)));
    MR_ASSIGN(const Endpoint size, nodes.add("Add", {count_, one}));
    MR_ASSIGN(const Endpoint first, nodes.add_constant(Tensor::vector<int32_t>({0})));
    MR_ASSIGN(const Endpoint second, nodes.add_constant(Tensor::vector<int32_t>({1})));
    MR_ASSIGN(const Endpoint end, nodes.add_constant(Tensor::vector<int32_t>({0})));
    MR_ASSIGN(const Endpoint row,
              nodes.add("StridedSlice", {shape, second, end, second}, {{"end_mask", int64_t{1}}}));
    MR_ASSIGN(const Endpoint wide_first, nodes.dtype(row) == DType::i64
                                             ? nodes.add_constant(Tensor::vector<int64_t>({0}))
                                             : nodes.add_constant(Tensor::vector<int32_t>({0})));
    MR_ASSIGN(const Endpoint no_rows,
              nodes.add("ConcatV2", {wide_first, row, zero}, {{"N", int64_t{2}}}));
    for (const int i : {0, 1}) {
      MR_ASSIGN(const Endpoint array, nodes.add("TensorArrayV3", {size}, {{"dtype", types[i]}}));
      MR_ASSIGN(Tensor nothing, scalar_of(types[i], 0));
      MR_ASSIGN(const Endpoint each, nodes.add_constant(std::move(nothing)));
      MR_ASSIGN(const Endpoint none, nodes.add("Fill", {i == 0 ? no_rows : first, each}));
      MR_ASSIGN(const Endpoint flow,
                nodes.add("TensorArrayWriteV3", {array, zero, none, {array.node, 1}}));
      arrays[i] = {array, flow};
    }
    return {};
  });
  MR_TRY(begun);
  Endpoint joined[2];
  for (const int i : {0, 1}) {
    MR_ASSIGN(const Around around, go_round(arrays[i].flow, PartialShape::scalar()));
    MR_ASSIGN(const Endpoint flow,
              nodes.add("TensorArrayWriteV3", {arrays[i].array, now_, parts[i], around.inside}));
    MR_TRY(come_round(around, flow));
    MR_ASSIGN(joined[i], outside([&] {
                return nodes.add("TensorArrayConcatV3", {arrays[i].array, around.after},
                                 {{"dtype", types[i]}});
              }));
  }
  return Gradient{.slices = IndexedSlices{joined[0], joined[1], shape}};
}

}  // namespace millrace
