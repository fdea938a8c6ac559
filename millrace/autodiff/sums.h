// Sums of gradients that arrive at one output, dense or as slices.
#pragma once

#include <vector>

#include "millrace/autodiff/placed_nodes.h"

namespace millrace {

// Slices as a tensor, the rows that none of them names being 0.
Result<Endpoint> densified(PlacedNodes& nodes, const IndexedSlices& slices);

// The sum of at least one gradient. Slices alone stay slices, one after another; with a tensor
// among them the sum is a tensor.
Result<Gradient> summed(PlacedNodes& nodes, const std::vector<Gradient>& parts,
                        Aggregation aggregation);

}  // namespace millrace
