#include "millrace/worker/graph_run.h"

#include <algorithm>
#include <utility>

#include "millrace/graph/import.h"

namespace millrace {

void GraphRun::start(const RunSite& site, std::shared_ptr<WorkerSession> session,
                     std::shared_ptr<RegisteredGraph> graph, PartRun run, const Call& call,
                     Done<RunGraphReply> done) {
  std::unique_ptr<Pooled> idle = graph->idle_runs().take();
  if (idle == nullptr) idle = std::make_unique<GraphRun>(site);
  const std::shared_ptr<GraphRun> made(static_cast<GraphRun*>(idle.release()), Recycle());
  made->begin(std::move(session), std::move(graph), std::move(run), std::move(done));
  made->run(call);
}

void GraphRun::begin(std::shared_ptr<WorkerSession> session, std::shared_ptr<RegisteredGraph> graph,
                     PartRun run, Done<RunGraphReply> done) {
  token_ = site_.in_flight.enter();
  session_ = std::move(session);
  graph_ = std::move(graph);
  request_ = std::move(run);
  done_ = std::move(done);
  started_ = site_.host.clock.now();
  if (slots_.size() != graph_->slot_keys().size()) {
    slots_.resize(static_cast<uint32_t>(graph_->slot_keys().size()));
    slots_abort_ = cancellation_.on_cancel([this](const Status& why) { slots_.abort(why); });
  }
  MutexLock lock(mutex_);
  running_ = graph_->pieces().size();
}

void GraphRun::Recycle::operator()(GraphRun* run) const {
  std::unique_ptr<GraphRun> one(run);
  // The worker may go with its last token, and the graph with all that it keeps.
  const InFlight::Token token = std::move(run->token_);
  const auto session = std::move(run->session_);
  const auto graph = std::move(run->graph_);
  // Most steps leave nothing behind, and then no error need be written.
  if (run->step_resources_.size() > 0)
    run->step_resources_.clear_all(
        aborted("step ", run->request_.step_id, " has ended").as_consequence());
  run->rest();
  // A cancellation happens once.
  if (run->cancellation_.cancelled()) {
    one.reset();
  } else {
    graph->idle_runs().give(std::move(one));
  }
}

void GraphRun::rest() {
  request_ = {};
  done_ = {};
  map_.reset();
  rendezvous_.reset();
  visit_ = {};
  feeds_ = {};
  fed_.clear();
  fetches_.clear();
  traces_.clear();
  slots_.clear();
  leases_.clear();
  from_call_.release();
  MutexLock lock(mutex_);
  status_ = {};
  stopped_ = {};
}

void GraphRun::run(const Call& call) {
  Status status = bind_values();
  if (status.ok() && graph_->lease_feed()) status = hold_lease();
  if (status.ok()) status = session_->runs().enter(*this);
  is_listed_ = status.ok();
  if (!status.ok() || graph_->pieces().empty()) return finish(std::move(status));
  if (call.cancellation != nullptr) {
    from_call_ =
        call.cancellation->on_cancel([this](const Status& why) { cancellation_.cancel(why); });
  }
  Runner& runner = call.runner != nullptr ? *call.runner : site_.host.pool;
  // The last piece to end may take this with it, and the call.
  const size_t pieces = graph_->pieces().size();
  const auto self = shared_from_this();
  for (size_t i = 0; i < pieces; ++i) run_piece(i, runner);
}

Status GraphRun::bind_values() {
  if (request_.keys == nullptr) request_.keys = std::make_shared<const StepKeys>();
  if (request_.values.size() != request_.keys->send.size())
    return invalid("RunGraph brings ", request_.values.size(), " values for ",
                   request_.keys->send.size(), " keys");
  map_ = graph_->map_keys(request_.keys);
  if (graph_->meets_peers()) {
    visit_ = site_.steps.run(request_.step_id, session_->handle());
    rendezvous_ = visit_.rendezvous;
    rendezvous_->bind(session_->fetcher());
  } else if (graph_->uses_rendezvous() || map_->has_elsewhere) {
    rendezvous_ = std::make_shared<StepRendezvous>(request_.step_id, site_.host.clock);
  }
  fetches_.resize(graph_->num_fetches());
  if (map_->send_in_order) {
    feeds_ = request_.values;
    return {};
  }
  fed_.resize(graph_->num_feeds());
  for (size_t i = 0; i < map_->send.size(); ++i) {
    if (map_->send[i] == RegisteredGraph::KeyMap::kElsewhere) {
      MR_TRY(rendezvous_->send(request_.keys->send[i], {.tensor = std::move(request_.values[i])}));
    } else {
      fed_[map_->send[i]] = std::move(request_.values[i]);
    }
  }
  feeds_ = fed_;
  return {};
}

Status GraphRun::hold_lease() {
  const Tensor& lease = feeds_[*graph_->lease_feed()];
  if (!lease.has_value() || lease.dtype() != DType::string || !lease.shape().is_scalar()) {
    return invalid("the step is fed ",
                   lease.has_value() ? str_cat(dtype_name(lease.dtype()), lease.shape().to_string())
                                     : "nothing",
                   " as its lease, which is a scalar string");
  }
  return leases_.hold(HeldLeases::As::before, lease.item<std::string>()).with("the step's lease");
}

void GraphRun::run_piece(size_t index, Runner& runner) {
  const RegisteredGraph::Piece& piece = graph_->pieces()[index];
  const DeviceContext& device = session_->devices()[piece.device];
  TraceCollector* trace = nullptr;
  if (request_.trace == Trace::on) {
    traces_.push_back(std::make_unique<TraceCollector>(device.name, site_.host.clock));
    trace = traces_.back().get();
  }
  const std::span<Tensor> feeds =
      feeds_.subspan(piece.first_feed, piece.compiled->feed_keys().size());
  const StepArgs args{.context = {.step_id = request_.step_id,
                                  .device = &device,
                                  .rendezvous = rendezvous_.get(),
                                  .slots = &slots_,
                                  .cancellation = &cancellation_,
                                  .step_resources = &step_resources_,
                                  .pool = graph_->pools().intra_op.get(),
                                  .task_pool = &site_.host.pool,
                                  .blocking = &site_.host.blocking,
                                  .feeds = feeds,
                                  .fetches = std::span(fetches_).subspan(
                                      piece.first_fetch, piece.compiled->fetch_keys().size()),
                                  .leases = &leases_},
                      .own_feeds = feeds,
                      .runner = &runner,
                      .pool = graph_->pools().inter_op.get(),
                      .trace = trace,
                      .waiting = &waiting_};
  run_step(piece.compiled, args,
           Done<void>([self = std::shared_ptr<GraphRun>(shared_from_this(), this)](Status status) {
             self->piece_ended(std::move(status));
           }));
}

void GraphRun::stop(const Status& why) {
  {
    MutexLock lock(mutex_);
    stopped_.add(why);
  }
  cancellation_.cancel(why);
}

void GraphRun::piece_ended(Status status) {
  {
    MutexLock lock(mutex_);
    status_.add(std::move(status));
    if (--running_ > 0) return;
    // A kernel says that it was cancelled; what matters is what for.
    if (!status_.ok()) status_.add(stopped_.status());
    status = status_.status();
  }
  finish(std::move(status));
}

void GraphRun::finish(Status status) {
  // The caller may drop its cancellation once it is answered.
  from_call_.release();
  if (visit_.rendezvous != nullptr) site_.steps.run_ended(visit_);
  RunGraphReply reply;
  if (status.ok()) status = gather(&reply);
  // Before the answer: who gets it may look whether the step still runs, and start another.
  if (std::exchange(is_listed_, false)) session_->runs().leave(*this);
  Done<RunGraphReply> done = std::move(done_);
  if (!status.ok()) return done(std::move(status));
  done(std::move(reply));
}

Status GraphRun::gather(RunGraphReply* reply) {
  for (const auto& trace : traces_) reply->traces.push_back(trace->take());
  if (request_.record_partition_graphs) {
    for (const auto& piece : graph_->pieces())
      reply->partition_graphs.push_back(export_graph(*piece.graph));
  }
  const std::vector<std::string>& keys = request_.keys->receive;
  if (map_->receive_in_order) {
    reply->values = std::move(fetches_);
  } else {
    reply->values.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint32_t fetch = map_->receive[i];
      if (fetch != RegisteredGraph::KeyMap::kElsewhere) {
        reply->values.push_back(fetches_[fetch]);
        continue;
      }
      auto taken = rendezvous_->take(keys[i]);
      if (!taken.ok())
        return internal("Failed to fetch outputs for step ", request_.step_id, ": ",
                        taken.status().message());
      reply->values.push_back(*std::move(taken));
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const Delivery& value = reply->values[i];
    if (!value.is_dead && !value.tensor.has_value())
      return internal("Failed to fetch outputs for step ", request_.step_id,
                      ": nothing was sent for ", keys[i]);
  }
  return {};
}

StepWaits GraphRun::describe_waits(Clock::Time now) const {
  StepWaits waits{.step_id = request_.step_id,
                  .session_handle = session_->handle(),
                  .graph_handle = graph_->handle(),
                  .age = now - started_,
                  .receives = {},
                  .nodes = {}};
  waits.add_nodes(waiting_);
  if (rendezvous_ != nullptr) {
    for (const auto& wait : rendezvous_->waits())
      waits.receives.push_back({wait.key, now - wait.since});
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (const auto since = slots_.waits_since(i))
      waits.receives.push_back({graph_->slot_keys()[i], now - *since});
  }
  std::ranges::sort(
      waits.receives, {}, [](const auto& wait) -> const auto& { return wait.key; });
  return waits;
}

}  // namespace millrace
