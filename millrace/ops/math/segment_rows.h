// Folding rows into segments: what the sorted, unsorted and sparse segment ops share.
#pragma once

#include <span>
#include <vector>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What is left where no row went: 0, 1, or the lowest or highest number of the type.
enum class Empty : uint8_t { zero, one, lowest, highest };

// How rows of one segment become one: by a loop, and maybe divided by how many there were.
struct Folding {
  enum class By : uint8_t { nothing, number, root_of_number };
  cpu::BinaryLoop (*loop_for)(DType);
  Empty empty = Empty::zero;
  By divide = By::nothing;
};

struct FoldLoops {
  Folding folding;
  cpu::BinaryLoop fold = nullptr, divide = nullptr;
};

// The loops of a folding for the type of input 0, for kernel_with() of op/bind.h.
struct BoundFolding {
  Folding folding;
  Result<FoldLoops> read(const KernelSpec& spec) const;
};

// A tensor that is what folding nothing gives.
Result<Tensor> empty_segments(DType dtype, const Shape& shape, Empty empty);

// How many rows went into a segment, or the root of it, as a scalar of a type.
Result<Tensor> divisor_of(DType dtype, int64_t number, Folding::By by);

// The rows of a tensor, as bytes.
struct RowsIn {
  const char* data = nullptr;
  int64_t length = 0, bytes = 0;

  RowsIn(const Tensor& tensor, int64_t number);
};

// Folds row rows[i], or row i if none are named, into segment ids[i] of `out`; negative ids are
// left out. Requires that all are in bounds.
Status fold_rows(const RowsIn& in, std::span<const int64_t> rows, std::span<const int64_t> ids,
                 const FoldLoops& loops, Tensor& out, CancelProbe probe);

// Sets segments of `out` to 0 into which no row goes; ids are in order.
void clear_gaps(Tensor& out, std::span<const int64_t> ids);

// Errors: INVALID_ARGUMENT for a negative number.
Result<int64_t> read_segments(const Tensor& tensor);

// Errors: INVALID_ARGUMENT for ids that are negative, not in order or 2^63 - 1, in TensorFlow's
// words.
Status check_sorted(std::span<const int64_t> ids);

// The shape of data with the number of segments in the place of rows.
Result<Shape> segments_shape(int64_t segments, const Shape& data);

// What input `slot` says, if there is one, or as many as the ids need. Requires check_sorted().
Result<int64_t> number_of_segments(KernelContext& context, std::span<const int64_t> ids, int slot);

}  // namespace millrace
