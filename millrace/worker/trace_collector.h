// TraceCollector: gathers when the nodes of one device ran in one step. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/messages.h"
#include "millrace/engine/trace.h"

namespace millrace {

class TraceCollector final : public TraceSink {
 public:
  TraceCollector(std::string device, const Clock& clock)
      : clock_(clock), device_(std::move(device)) {}

  int64_t now_micros() override { return clock_.wall_micros(); }
  void node_ran(std::string_view node_name, std::string_view op, std::span<const Value> outputs,
                int64_t start_micros, int64_t end_micros) override;
  // What was gathered; leaves nothing.
  DeviceTrace take();

 private:
  const Clock& clock_;
  const std::string device_;
  Mutex mutex_;
  std::vector<NodeTiming> nodes_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
