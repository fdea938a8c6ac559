// Runs one step of a CompiledGraph.
//
// Dataflow by counting: a node is ready when all its inputs are there; ready nodes run at once on
// the thread that made them ready, in the order in which they lie (ready_set.h); in a graph with
// loops the last made ready first. Work is shared with the pool only when two nodes worth sharing
// are ready together: ops of cost `heavy` with more than 16 KiB of inputs or a text (an image, a
// file's name), and ops of cost `by_size` with more than 256 KiB. An asynchronous kernel holds no
// thread: when it answers, the step continues on `StepArgs::runner`. The first error cancels the
// step: nodes that have not started are not run, waiting ones are cancelled, and `done` gets that
// error once nothing of the step is left running, so everything the step borrowed may go then.
//
// Errors. A kernel's error gets "\n\t [[{{node NAME}}]]" appended; UNAVAILABLE from anything but a
// transfer becomes INTERNAL, because clients take it for a lost worker. CANCELLED and ABORTED after
// the step's cancellation are consequences. The step's rendezvous is aborted and its cancellation
// cancelled with the error (as a consequence), so that whoever waits elsewhere hears of it.
#pragma once

#include <memory>
#include <vector>

#include "millrace/base/done.h"
#include "millrace/base/runner.h"
#include "millrace/engine/compiled_graph.h"
#include "millrace/engine/trace.h"
#include "millrace/engine/waiting_nodes.h"
#include "millrace/op/kernel.h"

namespace millrace {

struct StepArgs {
  StepContext context;  // must stay valid until `done`
  // The values of context.feeds again, if the step may take them away: then a kernel that gets one
  // as its only owner may reuse its buffer. Empty: they are shared.
  std::span<Tensor> own_feeds = {};
  Runner* runner = nullptr;         // where the step goes on after a wait; never null
  Runner* pool = nullptr;           // shares heavy work; null: everything on `runner`
  TraceSink* trace = nullptr;       // null: no timing
  WaitingNodes* waiting = nullptr;  // knows which nodes wait; null: nobody asks
};

// Starts the step; may finish it inside this call. `done` is called exactly once, and neither the
// graph nor anything in `args` is used after.
void run_step(std::shared_ptr<const CompiledGraph> graph, StepArgs args, Done<void> done);

}  // namespace millrace
