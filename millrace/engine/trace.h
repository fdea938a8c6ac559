// TraceSink: hears when nodes ran. Null sinks cost the executor one branch per node.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/op/kernel.h"

namespace millrace {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The time of the timeline: microseconds since the Unix epoch. Any thread.
  virtual int64_t now_micros() = 0;
  // One node has run. What it did not make is empty in `outputs`, which are good for this call, the
  // views as long as the graph that ran. Any thread.
  virtual void node_ran(std::string_view node_name, std::string_view op,
                        std::span<const Value> outputs, int64_t start_micros,
                        int64_t end_micros) = 0;
};

}  // namespace millrace
