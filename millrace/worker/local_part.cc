#include "millrace/worker/local_part.h"

#include <utility>

#include "millrace/ops/state/kept_state.h"

namespace millrace {

namespace {

// Answers `done` when what the run has changed is on the disk. A run that failed promises nothing.
Done<RunGraphReply> when_kept(const RunSite& site, Done<RunGraphReply> done) {
  return Done<RunGraphReply>([&site, token = site.in_flight.enter(),
                              done = std::move(done)](Result<RunGraphReply> reply) mutable {
    if (!reply.ok()) return done(std::move(reply));
    site.kept->commit(Done<void>([reply = std::move(reply), token = std::move(token),
                                  done = std::move(done)](Status kept) mutable {
      if (!kept.ok()) return done(std::move(kept));
      done(std::move(reply));
    }));
  });
}

}  // namespace

void LocalPart::run(PartRun run, Call call, Done<RunGraphReply> done) {
  if (site_.kept != nullptr) done = when_kept(site_, std::move(done));
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
