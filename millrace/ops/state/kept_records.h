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
//   5 dropped    device, container, name, kind: 1 variable, 2 queue, 3 all that was applied
//   6 loans      device, container, name, incarnation, the next lease's number, open: loan ...,
//                numbers that died, dead letters: their numbers among the elements
//   7 applied    device, incarnation of the lending queue, horizon, open numbers, of element ...
//   8 made       device, incarnation of the lending queue, number, step, update
//   9 identity   random, drawn when the state began; it stays
//  10 reign      of a state that two tasks hold: the term since which its owner had it, and the
//                group up to which this is all; the last one counts
//
//   loan         number, attempt, the element's number among the elements
//   of element   number, settled, update: (step, name) ...
//
//   tensor       dtype, shape, bytes (of plain dtypes, as in memory) or strings
//
// A variable's record has its whole value: the last one counts. A queue's record makes it, or says
// how it stands now; its elements go in once and out once, by number. A queue's loans, and what was
// applied for one lending queue, are told whole, too; `made` adds an update to that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/ops/state/applied_book.h"
#include "millrace/ops/state/kept_order.h"
#include "millrace/ops/state/queue_core.h"
#include "millrace/ops/state/queue_spec.h"

namespace millrace {

enum class KeptKind : uint8_t { variable = 1, queue = 2, applied = 3 };

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
struct KeptLent {
  KeptName name;
  KeptLoans loans;
};
struct KeptApplied {
  KeptName name;  // the device's
  AppliedBook::Part part;
};
struct KeptMade {
  KeptName name;  // the device's
  UpdateName update;
};
struct KeptIdentity {
  KeptName name = {};  // nothing's
  uint64_t identity = 0;
};
struct KeptReign {
  KeptName name = {};  // nothing's
  uint64_t since = 0, last = 0;
  friend bool operator==(const KeptReign&, const KeptReign&) = default;
};
using KeptRecord = std::variant<KeptVariable, KeptQueue, KeptIn, KeptOut, KeptDropped, KeptLent,
                                KeptApplied, KeptMade, KeptIdentity, KeptReign>;

// Whether values of this type can be kept: plain ones and strings.
bool can_be_kept(DType dtype);

std::string encode_kept(const KeptRecord& record);
// Errors: DATA_LOSS for what nobody writes.
Result<KeptRecord> decode_kept(std::string_view bytes);

}  // namespace millrace
