// Pieces: sparse tensors as the rows of a larger one. A batch is cut into them, and they are
// stacked to a batch again; in between they stand in a map, or in bytes.
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {

struct SparsePiece {
  Tensor indices;             // int64, [number, rank]
  Tensor values;              // [number]
  std::vector<int64_t> dims;  // of rank
};

// Places in row-major order, none twice. Errors: INVALID_ARGUMENT naming the first that is not.
Status check_strictly_ordered(const SparseInput& in);

// A piece for each index along the first axis, which it no longer has; empty ones too.
// Errors: INVALID_ARGUMENT if the rank is below 2, a place is outside, out of order or repeated.
Result<std::vector<SparsePiece>> cut_by_rows(const SparseInput& in);

// The pieces under new leading axes of sizes `lead`, whose product is their number; each of the
// other sizes is the largest that a piece has. Errors: INVALID_ARGUMENT if there is none, or their
// ranks or types differ.
Result<SparsePiece> stack_pieces(std::span<const SparsePiece> pieces,
                                 std::span<const int64_t> lead);

// Outputs 0 to 2.
void set_piece(KernelContext& context, SparsePiece piece);

}  // namespace millrace
