// A resource that is to outlive its task's process says so on the node that names it, in the
// attribute `_durable` (docs/design/durable.md): the task that owns it keeps it on its disk.
//
// By an attribute of this form the wish goes with the graph, through any client, file and server;
// who doesn't know it passes it on, as TensorFlow does. A task keeps all that it can, or only what
// asks. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"

namespace millrace {

inline constexpr std::string_view kDurable = "_durable";

// What a task that has a folder for it keeps.
enum class Keep : uint8_t {
  all,   // variables, and queues that have a shared name
  asked  // those of them whose nodes ask
};

inline std::optional<Keep> keep_of(std::string_view word) {
  if (word == "all") return Keep::all;
  if (word == "asked") return Keep::asked;
  return std::nullopt;
}

// Whether nodes of this op name what can be kept: a variable, or a queue.
inline bool can_be_durable(std::string_view op) {
  if (op == "FakeQueue") return false;  // passes on the handle of one
  return op.ends_with("Queue") || op.ends_with("QueueV2") || op == "Variable" ||
         op == "VariableV2" || op == "VarHandleOp";
}

// Errors: INVALID_ARGUMENT if the attribute is no bool; UNIMPLEMENTED for a node that asks and
// names what can't be kept.
Result<bool> asks_to_last(std::string_view op, const Attrs& attrs);

}  // namespace millrace
