// TraceSink: hears when nodes ran. Null sinks cost the executor one branch per node.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The time of the timeline: microseconds since the Unix epoch. Any thread.
  virtual int64_t now_micros() = 0;
  // One node has run. The views are good as long as the graph that ran. Any thread.
  virtual void node_ran(std::string_view node_name, std::string_view op, int64_t start_micros,
                        int64_t end_micros) = 0;
};

}  // namespace millrace
