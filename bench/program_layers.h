// The graph that building is measured with: layers of additions, a hundred wide, as a program makes
// them.
#pragma once

#include <vector>

#include "millrace/millrace.h"

namespace millrace::bench {

inline constexpr int kLayerWidth = 100;

// So many nodes; the first layer is constants.
inline std::vector<Output> layers(GraphBuilder& builder, int nodes) {
  const Scope root = builder.root();
  std::vector<Output> made;
  made.reserve(static_cast<size_t>(nodes));
  for (int i = 0; i < nodes; ++i) {
    const auto at = static_cast<size_t>(i);
    made.push_back(i < kLayerWidth
                       ? constant(root, 1.0f)
                       : Output(root.add("AddV2", {made[at - kLayerWidth], made[at - 1]}, {}), 0));
  }
  return made;
}

}  // namespace millrace::bench
