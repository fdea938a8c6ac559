// GIF by giflib: the frames of an animation as TensorFlow draws them, each over the one before,
// whatever it says of its disposal. The canvas is as wide as the widest frame and as high as the
// highest, and not what the screen's descriptor says; what no frame fills is black.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Which frames are drawn: all, the first, or the only one, more being an error.
enum class GifFrames { all, first, only };

// uint8 [frames, height, width, 3]. A GIF that is cut off or damaged has the frames before that
// place.
// Errors: INVALID_ARGUMENT for bytes without one whole frame, for a frame without colours and for a
// colour that is not among them; RESOURCE_EXHAUSTED.
Result<Tensor> decode_gif(std::string_view bytes, GifFrames frames, CancelProbe& probe);

}  // namespace millrace
