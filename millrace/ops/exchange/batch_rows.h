// Rows of tensors put together, and cut apart again.
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/exchange/batcher.h"

namespace millrace {

// The inputs of a batching node before `end`, to be kept while they wait.
// Errors: INVALID_ARGUMENT for scalars and for tensors that differ in the number of rows.
Result<std::vector<Tensor>> batch_inputs(KernelContext& context, int end);

// Tensors one behind the other along the first axis, then copies of the first row until there are
// `rows` of them. Requires at least one, all of one dtype and shape of rows.
// Errors: RESOURCE_EXHAUSTED.
Result<Tensor> joined_rows(std::span<const Tensor> parts, int64_t rows);

// The same of what may differ: INVALID_ARGUMENT then.
Result<Tensor> joined_alike(std::span<const Tensor> parts, int64_t rows);

// How many rows lie in the pieces.
int64_t rows_of(const std::vector<BatchPiece>& pieces);
// Each tensor of the tasks, all pieces joined and padded.
Result<std::vector<Tensor>> joined_pieces(const std::vector<BatchPiece>& pieces,
                                          const BatchRules& rules);

}  // namespace millrace
