// Constant folding: what a step would compute anew every time from constants alone is computed
// once, while the step is planned.
//
// So is what shapes tell: Shape, Size and Rank of a shape that is known, and what programs put
// together of them. Nobody's order changes by that: those who read such a constant wait for what
// its node waited for. A variable has the shape that it declares, as for TensorFlow, whatever was
// assigned to it without a check.
//
// Runs the kernels of nodes whose inputs are all Const (or folded before), outside of any step:
// such ops are `foldable` and not `stateful`, so they need no device, rendezvous or resources. A
// node that can't be folded (its kernel fails or waits, the result is too large or of a size that
// can't be told beforehand) is left as it is, and its error, if any, is met at run time.
#pragma once

#include "millrace/plan/step_graph.h"

namespace millrace {

struct FoldOptions {
  int64_t max_result_bytes = 10 << 20;  // of one node
  int64_t max_total_bytes = 64 << 20;   // of all folded nodes of one step
};

// Replaces folded nodes by constants named ConstantFolding/<node>, on the devices of those who read
// them; drops what is not needed any more. Errors: none that a graph can cause.
Status fold_constants(StepGraph& step, const FoldOptions& options = {});

}  // namespace millrace
