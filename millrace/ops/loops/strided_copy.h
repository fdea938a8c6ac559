// Copying boxes of elements between layouts: slices, transposes, tiles, pads, concatenations and
// broadcasts are all one call of this, for every dtype. Where source and target lie along different
// axes, squares of elements are copied, so that no line of the cache is fetched for one of them.
#pragma once

#include <span>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Copies `count` consecutive elements of `dtype`. The ranges must not overlap.
void copy_elements(DType dtype, const void* from, void* to, int64_t count);

// Which element of a tensor a box begins at, and how many elements to go on for along each axis.
// A stride of 0 repeats an element, a negative one walks backwards.
struct BoxLayout {
  int64_t begin = 0;
  std::span<const int64_t> strides;
};

// Copies the box of size `dims` from one tensor to another of the same dtype. Both layouts must
// stay inside their tensors, and no element of `to` may be written twice.
void copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
              Tensor& to, const BoxLayout& to_layout);
// The same, unless the step ends meanwhile: the status of the probe.
Status copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
                Tensor& to, const BoxLayout& to_layout, CancelProbe& probe);
// A new tensor of `shape` whose elements, in row-major order, are those of `from` in a layout.
Result<Tensor> copied_box(const Shape& shape, const Tensor& from, const BoxLayout& from_layout,
                          CancelProbe probe);

// Both by all threads of the step's pool, where there is enough to copy.
Status copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
                Tensor& to, const BoxLayout& to_layout, KernelContext& context);
Result<Tensor> copied_box(const Shape& shape, const Tensor& from, const BoxLayout& from_layout,
                          KernelContext& context);

}  // namespace millrace
