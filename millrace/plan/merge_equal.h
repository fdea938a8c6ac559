// Common subexpressions: nodes that would compute the same are merged into one.
//
// Two nodes are the same if they have one op, one device, equal attributes, the same inputs (the
// first two in any order if the op is commutative) and the same control inputs. Ops with state or
// with a part in control flow or transfers are left alone, and so is what reads a reference, since
// the variable behind it may change in between.
#pragma once

#include "millrace/plan/step_graph.h"

namespace millrace {

// Roots are never merged into others; names of merged nodes are gone. Errors: none that a graph can
// cause.
Status merge_equal_nodes(StepGraph& step);

}  // namespace millrace
