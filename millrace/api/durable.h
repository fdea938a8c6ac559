// durable(): asks for a variable or a queue to outlive its task's process (docs/design/durable.md).
//
//   Output total = durable(ops::variable_v2(reduce.with_name("total"), {}, DType::i64));
//   Output names = durable(ops::fifo_queue_v2(files, {DType::string}, {.shared_name = "names"}));
//
// Its task has to be started with a folder (`millrace serve --state DIR`, ServerOptions), or steps
// that come to it fail (FAILED_PRECONDITION). Its next life finds it by its shared_name, or else by
// the name of its node.
#pragma once

#include "millrace/api/scope.h"

namespace millrace {

// `resource`: what an op gave that names a variable or a queue; it is given back. Errors are kept
// in the builder: INVALID_ARGUMENT for what another op gave.
Output durable(Output resource);

}  // namespace millrace
