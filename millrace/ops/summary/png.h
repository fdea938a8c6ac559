// Pictures as PNG files in memory, by libpng.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/base/result.h"

namespace millrace::summary {

struct Picture {
  int64_t width = 0, height = 0;
  int channels = 0;                 // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::span<const uint8_t> pixels;  // row by row, channels inside
};

// The file's bytes. Errors: INVALID_ARGUMENT for a side of 0 or over a million, or other channels;
// INTERNAL with libpng's words.
Result<std::string> encode_png(const Picture& picture);

}  // namespace millrace::summary
