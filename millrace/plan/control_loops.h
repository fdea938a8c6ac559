// Loops that span devices, made ready to be cut.
//
// Each device runs its own executor, which knows nothing of iterations that happen elsewhere. So on
// every device that takes values from another one inside a loop, a small loop of control is added:
//
//     Enter -> Merge -> Switch(LoopCond of the frame) -> NextIteration -> Merge
//
// It turns once per iteration, driven by the decision that the LoopCond sends round, and has the
// Recv nodes of that device run once per iteration: whoever cuts an edge gives the new Recv a
// control input from the Merge. That these Merges are called _cloop… is how the cutter knows them,
// at the master and, for graphs that arrive already cut by task, at the worker.
#pragma once

#include "millrace/graph/graph.h"
#include "millrace/plan/fresh_names.h"

namespace millrace {

inline constexpr std::string_view kControlLoopPrefix = "_cloop";

// Moves control flow next to its data: a Switch and an Exit to the device of their input, an Enter
// and a NextIteration to that of their first consumer.
void colocate_control_flow(Graph& graph);

// Adds the control loops, and a control edge from the Merge of its device's loop to every node that
// takes a value from another device inside a loop. Every node must be placed.
// Errors: INVALID_ARGUMENT for frames that contradict each other, or a loop across devices without
// a LoopCond.
Status add_control_loops(Graph& graph, FreshNames& names);

// The Merge of a control loop.
bool is_control_loop_merge(const Node& node);

}  // namespace millrace
