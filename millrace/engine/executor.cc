#include "millrace/engine/executor.h"

#include "millrace/engine/flat_flow.h"
#include "millrace/engine/step_driver.h"

namespace millrace {

void run_step(std::shared_ptr<const CompiledGraph> graph, StepArgs args, Done<void> done) {
  drive_step<FlatFlow>(std::move(graph), std::move(args), std::move(done));
}

}  // namespace millrace
