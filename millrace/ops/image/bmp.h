// BMP: images of whole bytes, as they lie in the file. No library is asked: there is nothing packed
// in what TensorFlow reads of them, and that is what is read here.
#pragma once

#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// uint8 [height, width, channels]: 1 gray (without a palette), 3 red, green, blue, 4 with alpha.
// `channels` 0 means as many as the image has; gray is spread over three, and alpha is left out, or
// is 255. Errors: INVALID_ARGUMENT for bytes that are no such BMP, or more or fewer than its pixels
// take; for 1 channel, to which TensorFlow's doesn't decode either.
Result<Tensor> decode_bmp(std::string_view bytes, int channels, CancelProbe& probe);

}  // namespace millrace
