// PNG by libpng: images as its bytes say. As with jpeg.h, what jumps stands apart.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// uint8 or uint16, [height, width, channels]; channels 0 means as many as the image has, 1 gray,
// 2 gray and alpha, 3 red, green, blue, 4 with alpha.
// Errors: INVALID_ARGUMENT for bytes that are no PNG, are cut off, or can't hold as many pixels
// as they say, RESOURCE_EXHAUSTED.
Result<Tensor> decode_png(std::string_view bytes, int channels, DType dtype, CancelProbe& probe);

// Of pixels [height, width, 1 to 4], uint8 or uint16. `compression` is 0 to 9, or -1 for zlib's.
Result<std::string> encode_png(const Tensor& image, int compression);

}  // namespace millrace
