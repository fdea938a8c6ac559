#include "millrace/ops/nn/fractional_cuts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace {
namespace {

// Of every window's elements the k are sure; the rest are dealt out one each and shuffled.
std::vector<int64_t> random_cuts(int64_t length, int64_t parts, PhiloxStream& stream) {
  const auto number = static_cast<size_t>(parts);
  std::vector<int64_t> windows(number, length / parts);
  for (int64_t i = 0; i < length % parts; ++i) ++windows[static_cast<size_t>(i)];
  PhiloxWords words(stream.reserve((static_cast<uint64_t>(parts) + 3) / 4));
  for (size_t i = 0; i + 1 < number; ++i)
    std::swap(windows[i], windows[i + words.next() % static_cast<uint32_t>(number - i)]);
  std::vector<int64_t> cuts = {0};
  for (const int64_t window : windows) cuts.push_back(cuts.back() + window);
  return cuts;
}

// Cut i is at alpha * (i + u), rounded up; u is so small that neither the first window has more
// than k + 1 elements nor the last less than k.
std::vector<int64_t> regular_cuts(int64_t length, int64_t parts, PhiloxStream& stream) {
  const auto in = static_cast<double>(length), out = static_cast<double>(parts);
  const int64_t least = length / parts;
  const auto k = static_cast<double>(least);
  const double alpha = in / out;
  const double most = std::min((k + 2) / alpha - 1, (in + 1 - k) / alpha - (out - 1));
  PhiloxWords words(stream.reserve(1));
  const uint32_t first = words.next();
  const double u = unit_double(first, words.next()) * most;
  std::vector<int64_t> cuts = {0};
  for (int64_t i = 1; i < parts; ++i) {
    const double at = std::ceil(alpha * (static_cast<double>(i) + u));
    // A u of exactly 0, and rounding, must not leave a window without elements.
    cuts.push_back(std::clamp(static_cast<int64_t>(at) - 1, cuts.back() + 1, length - parts + i));
  }
  cuts.push_back(length);
  return cuts;
}

}  // namespace

std::vector<int64_t> drawn_cuts(int64_t length, int64_t parts, Cutting cutting,
                                PhiloxStream& stream) {
  return cutting == Cutting::random ? random_cuts(length, parts, stream)
                                    : regular_cuts(length, parts, stream);
}

}  // namespace millrace
