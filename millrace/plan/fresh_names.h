// FreshNames: names for nodes that a pass adds, never used before.
//
// Workers keep stateful kernels, transfers among them, by node name for as long as a session lives;
// so one of these serves all the plans of a session. Any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/graph/graph.h"

namespace millrace {

class FreshNames {
 public:
  // `mark` tells who cuts: "_S" for masters, "_G" for workers, as in TensorFlow.
  explicit FreshNames(std::string_view mark) : mark_(mark) {}

  // `prefix` with the mark and the next number; not the name of any node of `graph`.
  std::string next(std::string_view prefix, const Graph& graph) {
    for (;;) {
      std::string name = str_cat(prefix, mark_, next_.fetch_add(1, std::memory_order_relaxed));
      if (graph.find(name) == nullptr) return name;
    }
  }

 private:
  const std::string mark_;
  std::atomic<uint64_t> next_{0};
};

}  // namespace millrace
