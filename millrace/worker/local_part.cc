#include "millrace/worker/local_part.h"

#include <utility>

namespace millrace {

void LocalPart::run(PartRun run, Call call, Done<RunGraphReply> done) {
  if (run.is_partial) {
    partial_steps_.run_leg(site_, session_, graph_, std::move(run), call, std::move(done));
  } else {
    GraphRun::start(site_, session_, graph_, std::move(run), call, std::move(done));
  }
}

void LocalPart::deregister(Call, Done<void> done) {
  done(session_->deregister_graph(graph_->handle()));
}

}  // namespace millrace
