// TraceSink: hears when nodes ran. Null sinks cost the executor one branch per node.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // One node has run on the calling thread. Times are microseconds since the Unix epoch. Any thread.
  virtual void node_ran(std::string_view node_name, std::string_view op, int64_t start_micros,
                        int64_t end_micros) = 0;
};

}  // namespace millrace
