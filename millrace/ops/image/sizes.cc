#include "millrace/ops/image/sizes.h"

#include <array>

#include "millrace/ops/loops/arguments.h"

namespace millrace {

Status infer_image_sizes(InferContext& context, int slot, std::string_view what, int64_t images,
                         int64_t channels) {
  MR_ASSIGN(const auto size, constant_integers(context, slot, what));
  const bool is_known = size && size->size() == 2 && (*size)[0] >= 0 && (*size)[1] >= 0;
  const std::array dims = {images, is_known ? (*size)[0] : kUnknownDim,
                           is_known ? (*size)[1] : kUnknownDim, channels};
  return context.set_output(0, PartialShape::create(dims));
}

}  // namespace millrace
