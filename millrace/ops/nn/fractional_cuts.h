// Where fractional pooling cuts an axis: into windows of k or k + 1 elements, which of them being
// drawn, as TensorFlow draws them: same seeds, same cuts.
#pragma once

#include <vector>

#include "millrace/ops/loops/philox_blocks.h"

namespace millrace {

// Random: windows in any order. Regular: about evenly spread, with a random offset (Graham,
// "Fractional max-pooling", 2014, calls it pseudo-random).
enum class Cutting : uint8_t { random, regular };

// `parts` windows of `length` elements: 0, the ends of all but the last, `length`. They rise
// strictly. Requires 0 < parts <= length.
std::vector<int64_t> drawn_cuts(int64_t length, int64_t parts, Cutting cutting,
                                PhiloxStream& stream);

}  // namespace millrace
