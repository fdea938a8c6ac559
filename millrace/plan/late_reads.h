// Reads of reference variables, moved behind the writes that their readers wait for.
//
// TensorFlow hands out the variable's own buffer, so that a value read early shows what was written
// until somebody looks at it; programs count on it that look after a write:
//
//   with tf.control_dependencies([v.assign_add(1)]):
//     y = tf.identity(v)                # reads v/read, which itself waits for nothing
//
// Here a value that was read stays. So whoever comes after a write to the variable is given a read
// of its own, which comes after that write too; the others keep theirs.
//
//   v -> v/read -> y ^write        becomes        v -> v/read/late ^write -> y ^write
//
// Nothing gets an order that its readers did not have. Who comes after a write by way of a Merge,
// which is alive whichever branch ran, reads after what it waits for itself, not after the write. A
// value that was read before it entered a branch or a loop stays what it was in there.
#pragma once

#include "millrace/plan/step_graph.h"

namespace millrace {

// Works on a placed step. Does nothing to one that does not both read and write a variable by
// reference. Errors: none that a graph can cause.
Status read_late(StepGraph& step);

}  // namespace millrace
