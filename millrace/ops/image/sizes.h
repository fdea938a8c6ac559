// What ops that make images of other sizes are told of them.
#pragma once

#include <string_view>

#include "millrace/op/infer.h"

namespace millrace {

// Output 0 is images of as many rows and columns as input `slot` says, called `what`, as far as
// that is known before anything runs; a size that makes no sense is left to the kernel.
Status infer_image_sizes(InferContext& context, int slot, std::string_view what, int64_t images,
                         int64_t channels);

}  // namespace millrace
