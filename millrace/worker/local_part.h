// LocalPart: a registered graph as a master in the same process holds it: runs it without asking
// anybody where it is. Any thread; its worker outlives it.
#pragma once

#include <memory>

#include "millrace/cluster/services.h"
#include "millrace/worker/graph_run.h"
#include "millrace/worker/partial_step.h"

namespace millrace {

class LocalPart final : public RegisteredPart {
 public:
  LocalPart(const RunSite& site, PartialSteps& partial_steps,
            std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph)
      : site_(site),
        partial_steps_(partial_steps),
        session_(std::move(session)),
        graph_(std::move(graph)) {}

  void run(PartRun run, Call call, Done<RunGraphReply> done) override;
  void deregister(Call call, Done<void> done) override;

 private:
  const RunSite& site_;
  PartialSteps& partial_steps_;
  const std::shared_ptr<WorkerSession> session_;
  const std::shared_ptr<RegisteredGraph> graph_;
};

}  // namespace millrace
