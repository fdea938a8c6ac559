// BatchRules: how rows of several steps become one batch, as a node's attributes say it. Values.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/op/attrs.h"

namespace millrace {

struct BatchRules {
  int64_t threads = 1;              // batches that are worked on at once; 0: any number
  int64_t task_rows = 1;            // that one task may bring
  int64_t batch_rows = 1;           // of a batch, without padding; task_rows or less
  int64_t waiting = 1;              // batches that may wait
  Clock::Duration timeout{};        // how long an incomplete one waits for more
  std::vector<int64_t> sizes = {};  // that a batch may have, ascending; none: any
  bool splits = false;              // a task may lie in several batches
  bool rounds_down = false;         // leaves tasks for the next batch rather than pad, if it can

  // From the attributes of Batch, or of BatchFunction, which has more of them.
  // Errors: INVALID_ARGUMENT, in TensorFlow's words, for what contradicts itself.
  static Result<BatchRules> read(const AttrView& attrs);

  // How many rows a batch of so many is padded to.
  int64_t padded(int64_t rows) const;
  // The largest size below `rows` that a batch may have; 0 if there is none.
  int64_t size_below(int64_t rows) const;
};

// That many microseconds; what no clock reaches is a long time. Requires micros >= 0.
Clock::Duration batch_wait(int64_t micros);

}  // namespace millrace
