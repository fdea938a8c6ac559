// LoopFlow: the dataflow of a graph with loops. Private to this room; see step_driver.h.
//
// Each time a loop is reached, in one iteration of what is around it, it runs in a frame of its
// own; a frame has iterations, and every node of the loop has its turn once in each of them, dead
// or alive. Values move between iterations in three ways only:
//
//   Enter          into iteration 0 of the inner frame; a loop constant into every iteration
//   NextIteration  into the next iteration of the same frame; a dead one stops, which ends the loop
//   Exit           out into the iteration around the frame; a dead one only if the loop ends so
//
// At most parallel_iterations of a frame are under way: a NextIteration that would start one more
// waits until the oldest has ended. Iterations end in order: the oldest, when nothing in it is
// ready or running and no inner frame is open; a frame, when all its Enters have come and no
// iteration is left. Iterations and frames that have ended are kept for the next ones.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/engine/node_run.h"

namespace millrace {

class LoopFlow {
 public:
  using Layout = CompiledGraph::Layout;
  static constexpr bool kMayRunForEver = true;
  struct Iteration;
  struct Ready {
    uint32_t node;
    Iteration* iteration;
  };

  explicit LoopFlow(const Layout& layout);
  ~LoopFlow();

  void begin();
  bool pop(Ready* ready) {
    if (ready_.empty()) return false;
    *ready = ready_.back();
    ready_.pop_back();
    return true;
  }
  const Layout::Node& node(Ready ready) const { return layout_.nodes[ready.node]; }
  bool is_dead(Ready ready) const;
  Value* inputs(Ready ready);
  FrameIteration where(Ready ready) const;
  void propagate(Ready ready, Value* outputs, const KernelContext* context, Deaths deaths);
  Status end() const;
  void abandon() { ready_.clear(); }
  void clear();

 private:
  struct Frame;

  void enter(const Layout::Node& from, Iteration& here, Value* outputs, bool is_dead);
  void exit(Ready ready, Value* outputs, bool is_dead);
  void next_iteration(const Layout::Node& from, Iteration& here, Value* outputs, bool is_dead);

  // To all consumers of `from`, in iteration `to`.
  void deliver(const Layout::Node& from, Iteration& to, Value* outputs,
               const KernelContext* context, Deaths deaths);
  void deliver_copy(const Layout::Node& from, Iteration& to, const Value& value, bool is_dead);
  void push(Iteration& iteration, uint32_t node);

  Frame& inner_frame(Iteration& around, uint32_t layout_frame);
  Iteration& add_iteration(Frame& frame);
  void start_next_iteration(Frame& frame);
  // Ends what has come to its end, from `frame` outwards.
  void settle(Frame* frame);
  // Delivers the dead exits of a frame that is over, and takes it out of the iteration around it.
  void close(Frame& frame);

  std::unique_ptr<Frame> new_frame(uint32_t layout_frame);
  void retire(std::unique_ptr<Frame> frame);
  void retire(std::unique_ptr<Iteration> iteration);

  const Layout& layout_;
  std::unique_ptr<Frame> root_;
  std::vector<Ready> ready_;
  size_t root_turns_ = 0;  // nodes outside of loops that have had their turn

  // For reuse, by frame of the layout.
  std::vector<std::vector<std::unique_ptr<Frame>>> idle_frames_;
  std::vector<std::vector<std::unique_ptr<Iteration>>> idle_iterations_;
};

}  // namespace millrace
