#include "millrace/worker/partial_step.h"

#include <algorithm>
#include <utility>

namespace millrace {

PartialStep::PartialStep(const RunSite& site, std::shared_ptr<WorkerSession> session,
                         std::shared_ptr<RegisteredGraph> graph, int64_t step_id)
    : token_(site.in_flight.enter()),
      site_(site),
      session_(std::move(session)),
      graph_(std::move(graph)),
      step_id_(step_id),
      started_(site.host.clock.now()),
      book_(graph_->pieces().size()) {}

PartialStep::~PartialStep() {
  if (is_listed_) session_->runs().leave(*this);
  step_resources_.clear_all(aborted("step ", step_id_, " has ended").as_consequence());
}

Status PartialStep::prepare() {
  MR_ASSIGN(pieces_,
            graph_->for_partial_run(session_->devices(), session_->kernels(), session_->fetcher()));
  MR_TRY(session_->runs().enter(*this));
  is_listed_ = true;
  if (graph_->meets_peers()) {
    visit_ = site_.steps.run(step_id_, session_->handle());
    rendezvous_ = visit_.rendezvous;
  } else {
    rendezvous_ = std::make_shared<StepRendezvous>(step_id_, site_.host.clock);
  }
  rendezvous_->bind(session_->fetcher());
  return {};
}

void PartialStep::start() {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const DeviceContext& device = session_->devices()[graph_->pieces()[i].device];
    const StepArgs args{.context = {.step_id = step_id_,
                                    .device = &device,
                                    .rendezvous = rendezvous_.get(),
                                    .cancellation = &cancellation_,
                                    .step_resources = &step_resources_,
                                    .pool = graph_->pools().intra_op.get(),
                                    .task_pool = &site_.host.pool,
                                    .blocking = &site_.host.blocking,
                                    .leases = &leases_},
                        .runner = &site_.host.pool,
                        .pool = graph_->pools().inter_op.get(),
                        .waiting = &waiting_};
    run_step(pieces_[i], args, Done<void>([self = self()](Status status) {
               self->happen([&](PartialStepBook& book) { return book.on_piece_ended(status); });
             }));
  }
}

void PartialStep::run_leg(PartRun request, const Call& call, Done<RunGraphReply> done) {
  const bool is_last = request.is_last_partial_run;
  auto leg = std::make_shared<Leg>();
  leg->keys = std::move(request.keys);
  leg->done = std::move(done);
  const std::vector<std::string>& wanted = leg->keys->receive;
  leg->reply.values.resize(wanted.size());
  PartialStepBook::Leg number = 0;
  {
    MutexLock lock(mutex_);
    number = book_.on_leg(wanted.size(),
                          is_last ? PartialStepBook::Kind::last : PartialStepBook::Kind::further);
    legs_.emplace(number, leg);
  }
  if (call.cancellation != nullptr) {
    leg->from_call = call.cancellation->on_cancel([weak = weak_from_this()](const Status& why) {
      if (auto self = weak.lock()) static_cast<PartialStep&>(*self).stop(why);
    });
  }
  for (size_t i = 0; i < leg->keys->send.size(); ++i) {
    Status sent = rendezvous_->send(leg->keys->send[i], {.tensor = std::move(request.values[i])});
    if (!sent.ok())
      happen([&](PartialStepBook& book) { return book.on_send_failed(number, std::move(sent)); });
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    rendezvous_->receive_here(wanted[i], nullptr,
                              Done<Delivery>([self = self(), number, i](Result<Delivery> delivery) {
                                self->received(number, i, std::move(delivery));
                              }));
  }
  happen([&](PartialStepBook& book) { return book.on_leg_begun(number); });
}

void PartialStep::received(PartialStepBook::Leg number, size_t index, Result<Delivery> delivery) {
  PartialStepBook::Actions actions;
  {
    MutexLock lock(mutex_);
    actions = book_.on_received(number, delivery.status());
    if (delivery.ok()) legs_.at(number)->reply.values[index] = *std::move(delivery);
  }
  perform(actions);
}

template <class Event>
void PartialStep::happen(Event event) {
  PartialStepBook::Actions actions;
  {
    MutexLock lock(mutex_);
    actions = event(book_);
  }
  perform(actions);
}

void PartialStep::perform(const PartialStepBook::Actions& actions) {
  if (!actions.cancel.ok()) cancellation_.cancel(actions.cancel);
  if (actions.has_ended && visit_.rendezvous != nullptr) site_.steps.run_ended(visit_);
  if (actions.abort_receives) {
    rendezvous_->abort(internal("Failed to fetch outputs for step ", step_id_,
                                ": it has run, and not all of them were sent"));
  }
  for (const auto& answered : actions.answers) answer(answered.leg, answered.status);
}

void PartialStep::answer(PartialStepBook::Leg number, Status status) {
  std::shared_ptr<Leg> leg;
  {
    MutexLock lock(mutex_);
    leg = std::move(legs_.extract(number).mapped());
  }
  leg->from_call.release();
  Done<RunGraphReply> done = std::move(leg->done);
  if (!status.ok()) return done(std::move(status));
  done(std::move(leg->reply));
}

void PartialStep::stop(const Status& why) {
  happen([&](PartialStepBook& book) { return book.on_stop(why); });
}

StepWaits PartialStep::describe_waits(Clock::Time now) const {
  StepWaits waits{.step_id = step_id_,
                  .session_handle = session_->handle(),
                  .graph_handle = graph_->handle(),
                  .age = now - started_,
                  .receives = {},
                  .nodes = {}};
  waits.add_nodes(waiting_);
  for (const auto& wait : rendezvous_->waits())
    waits.receives.push_back({wait.key, now - wait.since});
  return waits;
}

void PartialSteps::run_leg(const RunSite& site, std::shared_ptr<WorkerSession> session,
                           std::shared_ptr<RegisteredGraph> graph, PartRun request,
                           const Call& call, Done<RunGraphReply> done) {
  if (request.keys == nullptr) request.keys = std::make_shared<const StepKeys>();
  if (request.values.size() != request.keys->send.size())
    return done(invalid("RunGraph brings ", request.values.size(), " values for ",
                        request.keys->send.size(), " keys"));
  const int64_t step_id = request.step_id;
  std::shared_ptr<PartialStep> step;
  bool is_first = false;
  Status prepared;
  {
    MutexLock lock(mutex_);
    const auto [known, is_new] = steps_.try_emplace(step_id);
    if (is_new) {
      known->second = std::make_shared<PartialStep>(site, session, graph, step_id);
      prepared = known->second->prepare();
    }
    step = known->second;
    is_first = is_new;
    if (!prepared.ok()) steps_.erase(known);
  }
  if (!prepared.ok()) return done(std::move(prepared));
  if (is_first) step->start();
  const bool is_last = request.is_last_partial_run;
  step->run_leg(std::move(request), call,
                Done<RunGraphReply>([this, step, step_id, is_last,
                                     done = std::move(done)](Result<RunGraphReply> reply) mutable {
                  if (is_last || !reply.ok()) {
                    MutexLock lock(mutex_);
                    const auto known = steps_.find(step_id);
                    if (known != steps_.end() && known->second == step) steps_.erase(known);
                  }
                  done(std::move(reply));
                }));
}

template <class Wanted>
void PartialSteps::drop_if(Wanted wanted, const Status& why) {
  std::vector<std::shared_ptr<PartialStep>> dropped;
  {
    MutexLock lock(mutex_);
    absl::erase_if(steps_, [&](const auto& known) {
      if (!wanted(known.first, *known.second)) return false;
      dropped.push_back(known.second);
      return true;
    });
  }
  // A run that is repeated is to go the same way, whatever the addresses.
  std::ranges::sort(dropped, {}, [](const auto& step) { return step->id(); });
  for (const auto& step : dropped) step->stop(why);
}

void PartialSteps::clean_up(int64_t step_id) {
  std::shared_ptr<PartialStep> dropped;
  {
    MutexLock lock(mutex_);
    const auto known = steps_.find(step_id);
    if (known == steps_.end()) return;
    dropped = std::move(known->second);
    steps_.erase(known);
  }
  dropped->stop(aborted("Cleanup ", step_id).as_consequence());
}

size_t PartialSteps::size() const {
  MutexLock lock(mutex_);
  return steps_.size();
}

void PartialSteps::drop_session(const WorkerSession& session, const Status& why) {
  drop_if([&](int64_t, const PartialStep& step) { return &step.session() == &session; }, why);
}

void PartialSteps::drop_all(const Status& why) {
  drop_if([](int64_t, const PartialStep&) { return true; }, why);
}

}  // namespace millrace
