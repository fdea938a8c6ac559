#include "millrace/ops/image/suppression.h"

#include <algorithm>

namespace millrace {

Box box_at(const float* corners) {
  return {std::min(corners[0], corners[2]), std::min(corners[1], corners[3]),
          std::max(corners[0], corners[2]), std::max(corners[1], corners[3])};
}

float overlap(const Box& a, const Box& b) {
  if (!(a.area() > 0) || !(b.area() > 0)) return 0;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float both = std::max(height, 0.f) * std::max(width, 0.f);
  return both / (a.area() + b.area() - both);
}

Result<std::vector<int32_t>> kept_boxes(const std::vector<float>& scores, OverlapOf overlap_of,
                                        const BoxLimits& limits, CancelProbe& probe) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.least_score) order.push_back(static_cast<int32_t>(i));
  }
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  std::vector<int32_t> kept;
  for (const int32_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.most) break;
    // The latest first: neighbours have scores that are alike.
    const bool is_hidden = std::any_of(kept.rbegin(), kept.rend(), [&](int32_t other) {
      return overlap_of(candidate, other) > limits.most_overlap;
    });
    if (!is_hidden) kept.push_back(candidate);
    if (!probe.go_on(static_cast<int64_t>(1 + kept.size()))) return probe.status();
  }
  return kept;
}

}  // namespace millrace
