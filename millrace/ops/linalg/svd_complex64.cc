// Part of svd.h: of complex64.
#include "millrace/ops/linalg/svd_loop.h"

namespace millrace {

template Status svd_of<std::complex<float>>(KernelContext&, const Batch&, const Tensor&,
                                            const SvdResults&);

}  // namespace millrace
