// The records of a kept state (kept_state.h): what a journal holds of queues and variables.
//
// Each is one field of protobuf's wire format whose number says what it is; in it are the fields of
// the struct here, numbered as they stand, absent if they are zero or empty:
//
//   1 variable   device, container, name, dtype, declared shape, value: tensor, if it has one
//   2 queue      device, container, name, op, types, shapes, capacity, least left behind, seeds,
//                closed, the next element's number
//   3 in         device, container, name, number, tensors
//   4 out        device, container, name, numbers
//   5 dropped    device, container, name, kind: 1 variable, 2 queue
//
//   tensor       dtype, shape, bytes (of plain dtypes, as in memory) or strings
//
// A variable's record has its whole value: the last one counts. A queue's record makes it, or says
// how it stands now; its elements go in once and out once, by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/ops/state/queue_core.h"
#include "millrace/ops/state/queue_spec.h"

namespace millrace {

enum class KeptKind : uint8_t { variable = 1, queue = 2 };

// What a record is about.
struct KeptName {
  uint64_t device = 0;
  std::string container, name;
  friend auto operator<=>(const KeptName&, const KeptName&) = default;
};

struct KeptVariable {
  KeptName name;
  DType dtype = DType::invalid;
  PartialShape shape;
  Tensor value;  // none: not initialised
};
struct KeptQueue {
  KeptName name;
  QueueSpec spec;
  bool is_closed = false;
  uint64_t next_number = 1;
};
struct KeptIn {
  KeptName name;
  uint64_t number = 0;
  QueueElement element;
};
struct KeptOut {
  KeptName name;
  std::vector<uint64_t> numbers;
};
struct KeptDropped {
  KeptName name;
  KeptKind kind = KeptKind::variable;
};
using KeptRecord = std::variant<KeptVariable, KeptQueue, KeptIn, KeptOut, KeptDropped>;

// Whether values of this type can be kept: plain ones and strings.
bool can_be_kept(DType dtype);

std::string encode_kept(const KeptRecord& record);
// Errors: DATA_LOSS for what nobody writes.
Result<KeptRecord> decode_kept(std::string_view bytes);

}  // namespace millrace
