// Singular values, one instantiation per element type, each in a source of its own: it is the
// dearest template of the room.
#pragma once

#include "millrace/ops/linalg/batches.h"

namespace millrace {

// u and v are empty tensors if they are not wanted. inner is how many columns both have at least:
// the smaller of rows and columns.
struct SvdResults {
  Tensor& s;
  Tensor& u;
  Tensor& v;
  bool wants_vectors = true, is_full = false;
};

using SvdLoop = Status (*)(KernelContext& context, const Batch& batch, const Tensor& a,
                           const SvdResults& results);

// What has elements that are not finite gives NaN.
template <class T>
Status svd_of(KernelContext& context, const Batch& batch, const Tensor& a,
              const SvdResults& results);

}  // namespace millrace
