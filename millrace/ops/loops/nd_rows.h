// Slices of a tensor that vectors of indices name: indices[i…, :] are the first coordinates of
// slice i. What GatherNd reads and the ScatterNd ops write, whatever the tensor is a part of.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What becomes of an index out of range: an error, or nothing is read (zeros) or written there.
enum class BadIndices : uint8_t { are_errors, are_ignored };

// Reads the attribute "bad_indices_policy", for kernel_with() of op/bind.h.
struct BoundBadIndices {
  Result<BadIndices> read(const KernelSpec& spec) const;
};

struct NdRows {
  static constexpr int64_t kNone = -1;  // an index out of range that is ignored
  std::vector<int64_t> numbers;         // which slice, counted in slices
  int64_t length = 1;                   // elements of a slice
};

// Errors: INVALID_ARGUMENT if indices have no last axis, more coordinates than `params` axes, or
// one out of range.
Result<NdRows> read_nd_rows(const Tensor& indices, const Shape& params, BadIndices bad);

// indices.shape[:-1] + params.shape[indices.shape[-1]:].
Result<PartialShape> nd_rows_shape(const PartialShape& indices, const PartialShape& params);

// The slices, one after another.
Result<Tensor> gather_nd(const Tensor& params, const Tensor& indices, BadIndices bad,
                         CancelProbe probe);

// How a slice that is there and an update make one. No loop: the update takes its place.
// The sum; of bools whether either is true, of strings one behind the other.
cpu::BinaryLoop nd_sum_loop(DType dtype);

// Checks that `updates` fit, then changes the slices of `params`, which nobody else may share.
// Nothing is written if anything is wrong.
Status scatter_nd(Tensor& params, const Tensor& indices, const Tensor& updates,
                  cpu::BinaryLoop loop, BadIndices bad, CancelProbe probe);

}  // namespace millrace
