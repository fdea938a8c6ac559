// Slices of a tensor that vectors of indices name: indices[i…, :] are the first coordinates of
// slice i. What GatherNd reads and the ScatterNd ops write, whatever the tensor is a part of.
#pragma once

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

// indices.shape[:-1] + params.shape[indices.shape[-1]:].
// Errors: INVALID_ARGUMENT if indices have no last axis or more coordinates than `params` axes.
Result<PartialShape> nd_rows_shape(const PartialShape& indices, const PartialShape& params);

// The slices, one after another.
// Errors: INVALID_ARGUMENT as above, or for an index out of range.
Result<Tensor> gather_nd(const Tensor& params, const Tensor& indices, BadIndices bad,
                         CancelProbe probe);

// How a slice that is there and an update make one. No loop: the update takes its place.
// The sum; of bools whether either is true, of strings one behind the other.
cpu::BinaryLoop nd_sum_loop(DType dtype);

// Checks that `updates` fit, then changes the slices of `params`, which nobody else may share.
// Nothing is written if anything is wrong: INVALID_ARGUMENT, also for an index out of range.
Status scatter_nd(Tensor& params, const Tensor& indices, const Tensor& updates,
                  cpu::BinaryLoop loop, BadIndices bad, CancelProbe probe);

}  // namespace millrace
