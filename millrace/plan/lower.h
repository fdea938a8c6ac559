// Lowering: the bodies of functions take the place of the nodes that call them.
//
//   PartitionedCall        the body                                   lower_call.cc
//   RemoteCall             the body, on the device that it names;     lower_call.cc
//                          or _SwitchN, bodies on all devices, Merge, lower_branches.cc
//                          or _RemoteCall, which calls when it runs
//   If, Case               Switch, the bodies, Merge                  lower_branches.cc
//   While                  Enter, Merge, Switch, NextIteration, Exit  lower_while.cc
//   For                    such a loop, and checks of its bounds      lower_for.cc
//   SymbolicGradient       the body, and the gradients of what it is, lower_call.cc
//                          or the body of the gradient that the library declares
//
// and their stateful and stateless kin. Afterwards a graph has only ops that have kernels, so that
// nobody below knows of functions. What is guaranteed, and what was rejected, is in
// docs/design/functions.md; in short:
//
//   - A node that the client made keeps its name: it becomes an IdentityN of its outputs, or a NoOp
//     if it has none, which runs what the call would have run. Its consumers take the values from
//     where they come to be, so that a step runs only what it needs.
//   - Nodes of a body run if the call runs and the branch is taken, else they are dead.
//   - A call is one thing: no output is there before all its side effects are done. An If, While or
//     Case that asks for lowering (`_lower_using_switch_merge`) is as it is in TensorFlow: each
//     output waits for what it needs, and what runs for its effect is what its functions return as
//     control outputs.
//   - A node of a body asks for the device that it names, completed by that of the call.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/function.h"
#include "millrace/graph/graph.h"
#include "millrace/plan/device_set.h"

namespace millrace {

// Where the outputs of a lowered node come from, and the node after which it has run.
struct StandIn {
  std::vector<Endpoint> outputs;
  NodeId done = kNoNode;
};

// The stand-ins of a graph that grows: consumers that come later use them, too.
class StandIns {
 public:
  // How many nodes were lowered, ids from 0; those that were added on the way are counted.
  size_t size() const { return size_; }
  // How many of them have one.
  size_t num_lowered() const { return stand_ins_.size(); }
  // Null for a node that is what it says.
  const StandIn* find(NodeId node) const;
  // Forgets the nodes from id `size` on.
  void truncate(size_t size);

 private:
  friend class Lowering;
  size_t size_ = 0;
  absl::flat_hash_map<NodeId, StandIn> stand_ins_;
  NodeId first_flow_ = kNoNode;  // the first node of TensorFlow 1's control flow
};

struct LowerOptions {
  // How much memory added nodes may take: functions that call functions twice grow without bound.
  size_t max_bytes = size_t{1} << 29;
  size_t max_depth = 100;  // of functions that call functions
  size_t max_order = 4;    // of gradients of functions that ask for gradients of functions
  // Makes of a body that calls no functions one that takes the gradients of its returns after its
  // arguments, and returns those of its arguments. Null: SymbolicGradient is refused.
  std::function<Result<FunctionBody>(const FunctionBody&)> differentiate = nullptr;
  // Among the CPUs of these a RemoteCall chooses whose target a step computes, if they are not more
  // than max_targets: each has a body. Null: it is refused.
  const DeviceSet* devices = nullptr;
  size_t max_targets = 64;
  // Which RemoteCalls become a _RemoteCall, which looks for its device when it runs, in its own
  // task: nobody but a worker has kernels that can call functions. `computed`: those whose target
  // is no constant.
  enum class ByKernel : uint8_t { none, computed, all };
  ByKernel remote_calls = ByKernel::none;
};

// Lowers the nodes that `graph` has got since `stand_ins` was made; it must be valid. On error
// `stand_ins` is unchanged, and the new nodes are good for nothing but Graph::truncate.
// Errors, naming the node and the function: those of `instantiate` (graph/function.h);
// INVALID_ARGUMENT for a function whose arguments or outputs are not the node's; UNIMPLEMENTED for
// functions that call themselves, naming the cycle, for SymbolicGradient if nothing
// differentiates, and for a RemoteCall whose target is computed and that the options make nothing
// of; RESOURCE_EXHAUSTED beyond the options; those of `differentiate`.
Status lower_functions(Graph& graph, StandIns& stand_ins, const LowerOptions& options = {});

}  // namespace millrace
