// QueueSpec: what two handles of one queue must agree on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/ops/state/queue_core.h"
#include "millrace/tensor/shape.h"

namespace millrace {

struct QueueSpec {
  std::string op;                    // "FIFOQueueV2"
  std::vector<DType> types;          // of the components
  std::vector<PartialShape> shapes;  // of the components; empty: any
  int64_t capacity = -1;             // elements; negative: unbounded
  int64_t min_after_dequeue = 0;
  int64_t seed = 0, seed2 = 0;

  // "FIFOQueue": the op without its version.
  std::string kind() const;
};

// The order of such a queue. Seeds as in TensorFlow: both zero means ones that differ each time, of
// `random`; null: the system's.
std::unique_ptr<QueueOrder> order_of(const QueueSpec& spec, Random* random);

}  // namespace millrace
