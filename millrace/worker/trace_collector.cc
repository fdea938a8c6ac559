#include "millrace/worker/trace_collector.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace millrace {

void TraceCollector::node_ran(std::string_view node_name, std::string_view op,
                              std::span<const Value> outputs, int64_t start_micros,
                              int64_t end_micros) {
  NodeTiming timing{.node_name = std::string(node_name),
                    .op = std::string(op),
                    .start_micros = start_micros,
                    .end_micros = end_micros,
                    .thread = static_cast<uint32_t>(syscall(SYS_gettid))};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& made = outputs[i].tensor;
    if (!made.has_value()) continue;
    timing.outputs.push_back(
        {.slot = static_cast<int>(i), .dtype = made.dtype(), .shape = made.shape()});
  }
  MutexLock lock(mutex_);
  nodes_.push_back(std::move(timing));
}

DeviceTrace TraceCollector::take() {
  MutexLock lock(mutex_);
  return {.device = device_, .nodes = std::move(nodes_)};
}

}  // namespace millrace
