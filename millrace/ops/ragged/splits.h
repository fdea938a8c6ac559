// Splits: where the rows of a ragged tensor begin, and at last where they end. Row i is what stands
// at [splits[i], splits[i + 1]) one level further down.
#pragma once

#include <span>
#include <vector>

#include "millrace/op/kernel.h"

namespace millrace {

using Splits = std::vector<int64_t>;

// A vector of one split or more that never fall, the first not negative and the last at most
// `below`, the number of things one level further down.
// Errors: INVALID_ARGUMENT.
Result<Splits> read_splits(const Tensor& tensor, int64_t below);

// The first is 0 and the last `below`. Errors: INVALID_ARGUMENT.
Status check_covers(const Splits& splits, int64_t below);

// Nested ones, outermost first, from inputs [slot, slot + levels); behind them are values of rank 1
// or more. Errors: INVALID_ARGUMENT, also if one level does not fit into the next.
Result<std::vector<Splits>> read_nested_splits(const KernelContext& context, int slot, int levels,
                                               const Tensor& values);

// Whether memory holds so many splits: indices, and variants that share one value, may ask for many
// more than came in. Errors: RESOURCE_EXHAUSTED.
Status check_room(int64_t splits);

// Appends the splits of every axis of `shape` but the first, each of which has rows of one length.
// Errors: RESOURCE_EXHAUSTED.
Status add_outer_splits(const Shape& shape, std::vector<Splits>& made);

// A vector of a type, int32 or int64. Errors: INVALID_ARGUMENT for numbers that it does not hold.
Result<Tensor> splits_tensor(DType dtype, std::span<const int64_t> splits);

}  // namespace millrace
