// Slices with steps as places to write to: what the ops that assign to a StridedSlice share, and
// how kernels read which slice it is.
#pragma once

#include "millrace/op/cancel_probe.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/strided_slice.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The masks of a node, for kernel_with() of op/bind.h.
struct BoundMasks {
  Result<SliceMasks> read(const KernelSpec& spec) const { return SliceMasks::from(spec.attrs); }
};

// What inputs 1 to 3 say. Errors: INVALID_ARGUMENT if they are not vectors as long as each other.
Result<SliceArguments> read_slice_arguments(KernelContext& context, const SliceMasks& masks);

// Writes `value`, which broadcasts to the slice, into a slice of `held`, whose buffer nobody else
// may share. Errors: as plan_slice(); INVALID_ARGUMENT if the value does not fit. Nothing is
// written then.
Status assign_slice(Tensor& held, const SliceArguments& arguments, const Tensor& value,
                    CancelProbe probe);

}  // namespace millrace
