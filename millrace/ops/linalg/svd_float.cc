// Part of svd.h: of float.
#include "millrace/ops/linalg/svd_loop.h"

namespace millrace {

template Status svd_of<float>(KernelContext&, const Batch&, const Tensor&, const SvdResults&);

}  // namespace millrace
