// What must hold of the nodes of a graph together, before anybody plans or runs it.
#pragma once

#include "millrace/graph/frames.h"
#include "millrace/graph/graph.h"

namespace millrace {

// That every input is set; that the only cycles are loops, closed by an edge from a NextIteration
// to a Merge; that the inputs of each node come from one frame; that transfer nodes name both their
// devices and a tensor. (Names, types and attributes of single nodes were checked when they were
// added: see graph.h.)
// Errors: INVALID_ARGUMENT naming the nodes at fault.
Status validate(const Graph& graph);
// The same for a graph that grows, of which only what `frames` does not cover yet is looked at;
// older nodes must not have those as inputs. It covers them afterwards; on error it is unchanged.
Status validate(const Graph& graph, FrameTable& frames);

}  // namespace millrace
