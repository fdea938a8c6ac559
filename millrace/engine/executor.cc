#include "millrace/engine/executor.h"

#include "millrace/engine/flat_flow.h"
#include "millrace/engine/loop_flow.h"
#include "millrace/engine/step_driver.h"

namespace millrace {

void run_step(std::shared_ptr<const CompiledGraph> graph, StepArgs args, Done<void> done) {
  if (graph->has_frames()) {
    drive_step<LoopFlow>(std::move(graph), args, std::move(done));
  } else {
    drive_step<FlatFlow>(std::move(graph), args, std::move(done));
  }
}

}  // namespace millrace
