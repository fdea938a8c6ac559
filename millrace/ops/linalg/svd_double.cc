// Part of svd.h: of double.
#include "millrace/ops/linalg/svd_loop.h"

namespace millrace {

template Status svd_of<double>(KernelContext&, const Batch&, const Tensor&, const SvdResults&);

}  // namespace millrace
