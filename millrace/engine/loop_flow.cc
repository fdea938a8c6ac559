#include "millrace/engine/loop_flow.h"

#include <algorithm>
#include <utility>

#include "millrace/base/hash.h"

namespace millrace {

// One iteration of a frame: a slice of the layout's arrays.
struct LoopFlow::Iteration {
  Frame* frame = nullptr;
  int64_t number = 0;
  size_t active = 0;                                     // nodes that are ready or running
  std::vector<Arrivals> arrivals;                        // by node of the frame
  std::vector<Value> values;                             // by input of the frame
  absl::InlinedVector<std::unique_ptr<Frame>, 1> inner;  // open frames
};

struct LoopFlow::Frame {
  // A value that an Enter or a NextIteration brought and that is delivered later, or again.
  struct Kept {
    uint32_t node;
    Value value;
    bool is_dead;
  };

  const Layout::Frame* layout = nullptr;
  uint32_t layout_index = 0;
  uint64_t id = 0;              // TensorFlow's: equal on all tasks of a loop that spans them
  Iteration* around = nullptr;  // null for the root
  uint32_t enters_to_come = 0;
  int64_t newest = -1;  // number of the last iteration that was started
  std::deque<std::unique_ptr<Iteration>> iterations;  // under way, oldest first, numbers in a row
  std::vector<Kept> constants;
  std::vector<Kept> waiting;         // NextIterations that wait for an iteration to end
  std::vector<uint32_t> dead_exits;  // of the newest iteration
};

LoopFlow::LoopFlow(const Layout& layout)
    : layout_(layout), idle_frames_(layout.frames.size()), idle_iterations_(layout.frames.size()) {}
LoopFlow::~LoopFlow() = default;

void LoopFlow::begin() {
  root_turns_ = 0;
  if (root_ != nullptr) retire(std::move(root_));
  root_ = new_frame(0);
  Iteration& only = add_iteration(*root_);
  // What is pushed last is taken first.
  for (size_t i = layout_.sources.size(); i-- > 0;) push(only, layout_.sources[i]);
}

bool LoopFlow::is_dead(Ready ready) const {
  const Iteration& here = *ready.iteration;
  return here.arrivals[ready.node - here.frame->layout->first_node].is_dead();
}

Value* LoopFlow::inputs(Ready ready) {
  Iteration& here = *ready.iteration;
  return here.values.data() + (node(ready).first_input - here.frame->layout->first_input);
}

FrameIteration LoopFlow::where(Ready ready) const {
  return {ready.iteration->frame->id, ready.iteration->number};
}

void LoopFlow::propagate(Ready ready, Value* outputs, const KernelContext* context, Deaths deaths) {
  const Layout::Node& from = node(ready);
  Iteration& here = *ready.iteration;
  const bool is_dead =
      deaths == Deaths::all || (from.num_outputs > 0 && context->output_is_dead(0));
  switch (from.role) {
    case Role::enter:
      enter(from, here, outputs, is_dead);
      break;
    case Role::exit:
      exit(ready, outputs, is_dead);
      break;
    case Role::next_iteration:
      next_iteration(from, here, outputs, is_dead);
      break;
    default:
      deliver(from, here, outputs, context, deaths);
  }
  for (Value *input = inputs(ready), *end = input + from.num_inputs; input != end; ++input)
    renew(*input);
  if (outputs != nullptr)
    for (uint32_t i = 0; i < from.num_outputs; ++i) renew(outputs[i]);

  if (here.frame == root_.get()) ++root_turns_;
  if (--here.active == 0) settle(here.frame);
}

void LoopFlow::enter(const Layout::Node& from, Iteration& here, Value* outputs, bool is_dead) {
  Frame& frame = inner_frame(here, from.inner_frame);
  --frame.enters_to_come;
  if (from.flags & Layout::kLoopConstant) {
    frame.constants.push_back({static_cast<uint32_t>(&from - layout_.nodes.data()),
                               is_dead ? Value() : std::move(outputs[0]), is_dead});
    for (auto& iteration : frame.iterations)
      deliver_copy(from, *iteration, frame.constants.back().value, is_dead);
  } else {
    // Iteration 0 stays until all Enters have come.
    deliver(from, *frame.iterations.front(), outputs, nullptr,
            is_dead ? Deaths::all : Deaths::as_said);
  }
  // If nothing was delivered the frame may be over already.
  settle(&frame);
}

void LoopFlow::exit(Ready ready, Value* outputs, bool is_dead) {
  Frame& frame = *ready.iteration->frame;
  if (!is_dead) {
    deliver(node(ready), *frame.around, outputs, nullptr, Deaths::as_said);
  } else if (ready.iteration->number == frame.newest) {
    frame.dead_exits.push_back(ready.node);
  }
}

void LoopFlow::next_iteration(const Layout::Node& from, Iteration& here, Value* outputs,
                              bool is_dead) {
  if (is_dead) return;
  Frame& frame = *here.frame;
  if (here.number < frame.newest) {
    const int64_t oldest = frame.iterations.front()->number;
    Iteration& next = *frame.iterations[static_cast<size_t>(here.number + 1 - oldest)];
    return deliver(from, next, outputs, nullptr, Deaths::as_said);
  }
  frame.waiting.push_back(
      {static_cast<uint32_t>(&from - layout_.nodes.data()), std::move(outputs[0]), false});
  if (frame.iterations.size() < frame.layout->parallel_iterations) start_next_iteration(frame);
}

void LoopFlow::deliver(const Layout::Node& from, Iteration& to, Value* outputs,
                       const KernelContext* context, Deaths deaths) {
  const Layout::Frame& frame = *to.frame->layout;
  Value* values = to.values.data();
  for (const Layout::Edge& edge : layout_.edges_of(from)) {
    const bool is_dead =
        deaths == Deaths::all || (context != nullptr && edge.slot != Layout::kControl &&
                                  context->output_is_dead(static_cast<int>(edge.output)));
    Arrivals& arrivals = to.arrivals[edge.consumer - frame.first_node];
    const bool is_ready = is_dead
                              ? deliver_death(edge, arrivals, from.role == Role::enter)
                              : deliver_value(edge, arrivals, values, frame.first_input, outputs);
    if (is_ready) push(to, edge.consumer);
  }
}

void LoopFlow::deliver_copy(const Layout::Node& from, Iteration& to, const Value& value,
                            bool is_dead) {
  Value copy = value;
  deliver(from, to, &copy, nullptr, is_dead ? Deaths::all : Deaths::as_said);
}

void LoopFlow::push(Iteration& iteration, uint32_t node) {
  ++iteration.active;
  ready_.push_back({node, &iteration});
}

LoopFlow::Frame& LoopFlow::inner_frame(Iteration& around, uint32_t layout_frame) {
  for (auto& frame : around.inner)
    if (frame->layout_index == layout_frame) return *frame;
  Frame& frame = *around.inner.emplace_back(new_frame(layout_frame));
  frame.around = &around;
  frame.id = combine64(around.frame->id,
                       combine64(static_cast<uint64_t>(around.number), frame.layout->name_hash));
  add_iteration(frame);
  return frame;
}

LoopFlow::Iteration& LoopFlow::add_iteration(Frame& frame) {
  auto& idle = idle_iterations_[frame.layout_index];
  std::unique_ptr<Iteration> made;
  if (idle.empty()) {
    made = std::make_unique<Iteration>();
    made->values.resize(frame.layout->num_inputs);
  } else {
    made = std::move(idle.back());
    idle.pop_back();
  }
  made->frame = &frame;
  made->number = ++frame.newest;
  made->active = 0;
  const auto first = layout_.arrivals.begin() + frame.layout->first_node;
  made->arrivals.assign(first, first + frame.layout->num_nodes);
  return *frame.iterations.emplace_back(std::move(made));
}

void LoopFlow::start_next_iteration(Frame& frame) {
  Iteration& next = add_iteration(frame);
  frame.dead_exits.clear();
  for (Frame::Kept& kept : frame.waiting)
    deliver(layout_.nodes[kept.node], next, &kept.value, nullptr, Deaths::as_said);
  frame.waiting.clear();
  for (const Frame::Kept& kept : frame.constants)
    deliver_copy(layout_.nodes[kept.node], next, kept.value, kept.is_dead);
}

void LoopFlow::settle(Frame* frame) {
  while (frame != nullptr) {
    while (!frame->iterations.empty()) {
      Iteration& oldest = *frame->iterations.front();
      const bool is_over = oldest.active == 0 && oldest.inner.empty() &&
                           (oldest.number > 0 || frame->enters_to_come == 0);
      if (!is_over) return;
      retire(std::move(frame->iterations.front()));
      frame->iterations.pop_front();
      if (!frame->waiting.empty()) start_next_iteration(*frame);
    }
    if (frame->enters_to_come > 0 || frame->around == nullptr) return;
    Frame* outer = frame->around->frame;
    close(*frame);
    frame = outer;
  }
}

void LoopFlow::close(Frame& frame) {
  Iteration& around = *frame.around;
  for (uint32_t exit : frame.dead_exits)
    deliver(layout_.nodes[exit], around, nullptr, nullptr, Deaths::all);
  const auto it =
      std::ranges::find_if(around.inner, [&](const auto& inner) { return inner.get() == &frame; });
  std::unique_ptr<Frame> closed = std::move(*it);
  around.inner.erase(it);
  retire(std::move(closed));
}

std::unique_ptr<LoopFlow::Frame> LoopFlow::new_frame(uint32_t layout_frame) {
  auto& idle = idle_frames_[layout_frame];
  std::unique_ptr<Frame> made;
  if (idle.empty()) {
    made = std::make_unique<Frame>();
    made->layout = &layout_.frames[layout_frame];
    made->layout_index = layout_frame;
  } else {
    made = std::move(idle.back());
    idle.pop_back();
  }
  made->enters_to_come = made->layout->num_enters;
  return made;
}

void LoopFlow::retire(std::unique_ptr<Frame> frame) {
  while (!frame->iterations.empty()) {
    retire(std::move(frame->iterations.back()));
    frame->iterations.pop_back();
  }
  frame->newest = -1;
  frame->constants.clear();
  frame->waiting.clear();
  frame->dead_exits.clear();
  idle_frames_[frame->layout_index].push_back(std::move(frame));
}

void LoopFlow::retire(std::unique_ptr<Iteration> iteration) {
  while (!iteration->inner.empty()) {
    retire(std::move(iteration->inner.back()));
    iteration->inner.pop_back();
  }
  for (Value& value : iteration->values) renew(value);
  idle_iterations_[iteration->frame->layout_index].push_back(std::move(iteration));
}

Status LoopFlow::end() const {
  const size_t expected = layout_.frames[0].num_nodes;
  if (root_turns_ == expected) return {};
  return internal("the step ended while ", expected - root_turns_, " of ", expected,
                  " nodes outside of loops still waited for inputs; a loop never ended");
}

void LoopFlow::clear() {
  if (root_ != nullptr) retire(std::move(root_));
}

}  // namespace millrace
