// A loop turned round: the loop that goes back through the iterations of one of the program's, from
// the last to the first, and makes the gradients of what is in it.
//
// The program's loop counts its iterations; the reversed one counts them down. What the gradients
// need of an iteration comes in as they are added: what is the same in each iteration enters as it
// is, small constants are made again, all else is pushed on a stack by the one loop and popped by
// the other. Pushes come in the order of the iterations, whatever runs at once, and pops in the
// opposite one; memory is given back with each. A value of a branch is popped where the same
// predicate says so. Loops in loops are reversed in the reversal of the outer one.
//
// Owned by LoopGradients, which the walk owns. One thread at a time, as the builder.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/autodiff/conditionals.h"
#include "millrace/autodiff/loops.h"
#include "millrace/autodiff/placed_nodes.h"

namespace millrace {

class LoopGradient;

// All reversed loops of one walk, and where its nodes run. Frames in which the program is, or
// around it, are not reversed: what is in them is "at home".
class LoopGradients {
 public:
  // All outlive it.
  LoopGradients(PlacedNodes& nodes, const Loops& loops, const Conditionals& conditionals,
                uint32_t home);

  // The reversal of the loop that is a frame, made when it is first asked for; null at home.
  Result<std::shared_ptr<LoopGradient>> of(uint32_t frame);
  bool is_home(uint32_t frame) const { return loops_.is_inside(home_, frame); }

 private:
  friend class LoopGradient;
  using BranchId = Conditionals::BranchId;

  // Where an output is: in a loop of the program's (or at home), or where the walk put it.
  struct Place {
    uint32_t frame = FrameTable::kRoot;
    LoopGradient* reversed = nullptr;
    BranchId branch = Conditionals::kOutside;
    bool is_made = false;  // by the walk, in a reversed loop or at home
  };
  Place place_of(Endpoint of) const;
  // A value that is at home, into a frame of the program's by way of those around it.
  Result<Endpoint> enter_forward(Endpoint value, uint32_t frame);

  PlacedNodes& nodes_;
  const Loops& loops_;
  const Conditionals& conditionals_;
  const uint32_t home_;
  const size_t first_made_;  // nodes from here on are the walk's
  absl::flat_hash_map<uint32_t, std::shared_ptr<LoopGradient>> by_frame_;
  absl::flat_hash_map<NodeId, Place> made_;
};

class LoopGradient final : public ReversedPlace {
 public:
  LoopGradient(LoopGradients& all, uint32_t frame, std::shared_ptr<LoopGradient> outer);

  // Counts iterations in the loop, and makes the reversed loop's own counting down.
  Status begin();

  // The variables that gradients go round in. `arriving` is what arrives at the variable after the
  // loop; what is given back arrives at the value that goes to the next iteration.
  Result<Endpoint> open(const LoopVariable& variable, const Gradient& arriving);
  bool is_open(const LoopVariable& variable) const { return open_.contains(variable.merge); }
  // `total` is the gradient of the variable as an iteration begins. Gives that of what it was
  // before the loop, outside of the reversed loop.
  Result<Gradient> close(const LoopVariable& variable, const Gradient& total);
  // The sum over all iterations of what arrives at a value that is the same in each; outside.
  Result<Gradient> total(const Node& enter, const Gradient& arriving);

  // Keeps, for the reversal of the loop that a value was kept in, the gradient of what was taken
  // from the stack in this one; returns the stack.
  Result<Endpoint> keep_back(const Gradient& gradient);
  // What the reversal of the loop of a pop kept, where `of`, which had been kept, is alive. The
  // loop `from` has ended by then.
  Result<Endpoint> take_back(Endpoint stack, Endpoint of, LoopGradient& from);

  Status admit(std::vector<Endpoint>& inputs, std::vector<NodeId>& before) override;
  void added(NodeId node) override;
  Result<std::optional<Endpoint>> told_of(Endpoint of, std::string_view op,
                                          const Attrs& attrs) override;

 private:
  using BranchId = Conditionals::BranchId;
  // A variable of the reversed loop.
  struct Around {
    Endpoint merged, inside, after;
  };

  const Graph& graph() const { return all_.nodes_.graph(); }
  const Loop& loop() const { return all_.loops_.loop(frame_); }
  BranchId body() const;  // the branch that iterations are
  Attrs frame_attrs(bool is_constant) const;
  // Control flow's own nodes, inside of the reversed loop and of the program's.
  Result<Endpoint> add_inside(PlacedNodes::Plumbing node);
  Result<Endpoint> add_forward(PlacedNodes::Plumbing node, uint32_t frame, BranchId branch);
  Result<Endpoint> add_outside(PlacedNodes::Plumbing node);
  Result<Endpoint> count_forward();
  Result<NodeId> anchor_outside();
  Status count_back(Endpoint count);
  Result<NodeId> done();
  Result<Endpoint> zeros_after(const LoopVariable& variable);
  Result<Around> go_round(Endpoint initial, PartialShape shape);
  Status come_round(const Around& around, Endpoint next);

  bool is_invariant(Endpoint of) const;
  // The value of an endpoint inside of the reversed loop.
  Result<Endpoint> bring(Endpoint of);
  Result<Endpoint> bring_from_outside(Endpoint of);
  Result<Endpoint> recall(Endpoint of);
  Result<Endpoint> kept_on_stack(Endpoint of);
  Result<Endpoint> stack_for(Endpoint of);
  Result<Endpoint> popped(Endpoint stack, Endpoint of);
  Result<Endpoint> where_alive(Endpoint handle, BranchId branch);
  // The next iteration comes after `node`, whether that is dead or not.
  Status finish_before_next(NodeId node, Endpoint& sync, Endpoint step, bool is_forward);
  Result<Gradient> total_of_slices(const Node& enter, const IndexedSlices& slices);
  Result<Endpoint> shape_outside(Endpoint of);
  Result<Endpoint> zeros_outside(const Node& enter, Endpoint like);
  template <class Run>
  auto outside(Run&& run);

  LoopGradients& all_;
  const uint32_t frame_;
  const std::shared_ptr<LoopGradient> outer_;
  std::string name_;  // of the reversed frame
  Endpoint forward_now_, forward_step_, forward_sync_;
  Endpoint count_;  // of all iterations, as the reversed loop gets it
  Endpoint entered_, merged_, parted_, now_, step_, sync_, cond_;
  Endpoint done_;  // outside, when the last iteration is over; made when it is asked for
  absl::flat_hash_map<NodeId, Around> open_;
  absl::flat_hash_map<Endpoint, Endpoint> known_;  // what was brought in already
  absl::flat_hash_map<std::pair<Endpoint, std::string>, Endpoint> told_;
};

}  // namespace millrace
