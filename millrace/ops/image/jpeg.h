// JPEG by libjpeg-turbo: images as its bytes say, rows of channels. No kernel, no tensor's rules.
//
// libjpeg answers errors by jumping; what jumps stands in functions of their own here, whose frames
// hold nothing that would have to be destroyed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct JpegOptions {
  int channels = 0;  // 0: as many as the image has; 1: gray, 3: red, green, blue
  int ratio = 1;     // how much smaller it is made: 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool fast_dct = true;  // as TensorFlow reads, if nothing is said
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;  // of the rows, of one that is cut off
};

struct JpegSize {
  int64_t height = 0, width = 0, channels = 0;
};

// What the header says. Errors: INVALID_ARGUMENT for bytes that are no JPEG.
Result<JpegSize> jpeg_size(std::string_view bytes);
// uint8, [height, width, channels].
// Errors: INVALID_ARGUMENT for bytes that are no JPEG or are cut off, RESOURCE_EXHAUSTED.
Result<Tensor> decode_jpeg(std::string_view bytes, const JpegOptions& options, CancelProbe& probe);

struct JpegWriting {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  int density_unit = 1, x_density = 300, y_density = 300;
  std::string xmp_metadata = {};  // XML that tells of the image
};
// Of uint8 pixels [height, width, 1 or 3]. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
Result<std::string> encode_jpeg(const Tensor& image, const JpegWriting& writing);

}  // namespace millrace
