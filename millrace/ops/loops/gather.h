// Gathering: output[b…, o…, i…, n…] = params[b…, o…, indices[b…, i…], n…].
#pragma once

#include "millrace/base/result.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// The output's shape; `batch_dims` leading axes are shared by params and indices.
// Errors: INVALID_ARGUMENT if there are not enough axes or the shared ones differ.
Result<PartialShape> gathered_shape(const PartialShape& params, const PartialShape& indices,
                                    int64_t axis, int64_t batch_dims);

// Copies rows of `inner` elements each: those that the `number` numbers of `rows` name, to one
// behind the other.
using CopyRows = void (*)(DType dtype, const char* from, const int64_t* rows, int64_t number,
                          char* to, int64_t inner);
CopyRows copy_rows_for(DType dtype, int64_t inner);

// The gathered rows, copied by all threads of the step's pool if they are many. Errors: also for an
// index out of range.
Result<Tensor> gather(KernelContext& context, const Tensor& params, const Tensor& indices,
                      int64_t axis, int64_t batch_dims);

}  // namespace millrace
