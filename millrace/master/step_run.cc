#include "millrace/master/step_run.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/master/cost_graph.h"
#include "millrace/master/master_session.h"

namespace millrace {

namespace {

// How much later than the client the parts of a step learn that its time is over, if nobody tells
// them: the master's word should come first, with its reason.
constexpr std::chrono::seconds kPartsDeadline{1};

std::vector<Tensor> in_client_order(const std::vector<Tensor>& tensors,
                                    const OrderedStep& ordered) {
  std::vector<Tensor> in_order;
  in_order.reserve(ordered.fetch_of.size());
  for (const uint32_t fetch : ordered.fetch_of) in_order.push_back(tensors[fetch]);
  return in_order;
}

template <class Reply>
void give(Done<Reply>& done, std::vector<Tensor> tensors, RunMetadata metadata) {
  Reply reply;
  reply.tensors = std::move(tensors);
  reply.metadata = std::move(metadata);
  done(std::move(reply));
}

// The first names, for people.
template <class Names>
std::string first_of(const Names& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    str_append(&text, i == 0 ? "" : ", ", names[i]);
  if (names.size() > kMost) str_append(&text, " and ", names.size() - kMost, " more");
  return text;
}

}  // namespace

void refuse(StepAnswer answer, Status why) {
  std::visit([&](auto& done) { done(std::move(why)); }, answer);
}

void StepRun::begin(std::shared_ptr<MasterSession> session,
                    std::shared_ptr<const OrderedStep> ordered, const RunOptions& options,
                    StepAnswer answer, StepLeg leg) {
  session_ = std::move(session);
  ordered_ = std::move(ordered);
  options_ = options;
  leg_ = leg;
  if (leg_.step_id == 0) leg_.step_id = session_->context().next_step_id();
  answer_ = std::move(answer);
  const PreparedStep& step = *ordered_->step;
  costs_ = wants_costs(step);
  for (size_t i = parts_.size(); i < step.parts.size(); ++i) parts_.push_back({this, i});
  MutexLock lock(mutex_);
  tracker_ = StepTracker(step.tracked);
  fetched_.resize(step.fetches.size());
}

void StepRun::Recycle::operator()(StepRun* run) const {
  std::unique_ptr<StepRun> one(run);
  const auto session = std::move(run->session_);
  const auto ordered = std::move(run->ordered_);
  if (std::exchange(run->is_listed_, false)) session->leave(*run);
  run->rest();
  // A cancellation happens once.
  if (run->cancellation_.cancelled()) {
    one.reset();
  } else {
    ordered->step->idle_runs.give(std::move(one));
  }
}

void StepRun::rest() {
  uses_caller_ = false;
  answer_ = {};
  std::optional<EarlyEnd> early_end;  // not destroyed with the lock, see answer()
  MutexLock lock(mutex_);
  early_end.swap(early_end_);
  fetched_.clear();
  metadata_ = {};
}

std::weak_ptr<StepRun> StepRun::start(std::shared_ptr<MasterSession> session,
                                      std::shared_ptr<const OrderedStep> ordered,
                                      std::vector<Tensor> feeds, const RunOptions& options,
                                      const Call& call, StepAnswer answer, StepLeg leg) {
  if (feeds.size() != ordered->feed_at.size()) {
    refuse(std::move(answer), invalid("got ", feeds.size(), " feed values; this step takes ",
                                      ordered->feed_at.size()));
    return {};
  }
  std::unique_ptr<Pooled> idle = ordered->step->idle_runs.take();
  if (idle == nullptr) idle = std::make_unique<StepRun>();
  const std::shared_ptr<StepRun> made(static_cast<StepRun*>(idle.release()), Recycle());
  made->begin(std::move(session), std::move(ordered), options, std::move(answer), leg);
  made->run(std::move(feeds), call);
  return made;
}

void StepRun::run(std::vector<Tensor> feeds, const Call& call) {
  if (Status open = session_->enter(*this); !open.ok()) {
    refuse(std::move(answer_), std::move(open));
    return;
  }
  is_listed_ = true;
  uses_caller_ = call.runner != nullptr && !call.deadline;
  if (call.cancellation != nullptr || call.deadline) watch(call);
  Call part_call{.cancellation = &cancellation_};
  deadline_ = call.deadline;
  if (call.deadline) part_call.deadline = *call.deadline + kPartsDeadline;
  if (uses_caller_) {
    part_call.runner = call.runner;
    part_call.waiting = call.waiting;
  } else if (call.runner != nullptr) {
    session_->context().host().pool.post(
        [self = shared_from_this(), feeds = std::move(feeds), part_call]() mutable {
          self->start_parts(std::move(feeds), part_call);
        });
    return;
  }
  start_parts(std::move(feeds), part_call);
}

void StepRun::watch(const Call& call) {
  const Host& host = session_->context().host();
  auto stop = [weak = weak_from_this()](Status why) {
    if (auto self = weak.lock()) self->stop(std::move(why));
  };
  EarlyEnd early_end = call.deadline
                           ? EarlyEnd(host, call, what(), stop)
                           : EarlyEnd::when_given_up(*call.cancellation, host.endings, stop);
  MutexLock lock(mutex_);
  early_end_ = std::move(early_end);
}

void StepRun::start_parts(std::vector<Tensor> feeds, Call call) {
  // The last call may use the caller's thread: nothing is left to start after it.
  const bool waiting = call.waiting;
  const size_t parts = parts_.size();
  for (size_t i = 0; i < parts; ++i) {
    call.waiting = waiting && i + 1 == parts;
    start_part(i, feeds, call);
  }
}

void StepRun::start_part(size_t index, std::vector<Tensor>& feeds, const Call& call) {
  const PreparedPart& part = ordered_->step->parts[index];
  PartRun request;
  request.step_id = leg_.step_id;
  request.keys = part.keys;
  request.trace = costs_ ? Trace::on : options_.trace;
  request.is_partial = leg_.kind != StepLeg::Kind::whole_step;
  request.is_last_partial_run = leg_.kind == StepLeg::Kind::last_leg;
  request.record_partition_graphs = costs_ || options_.output_partition_graphs;
  if (part.where == StepTracker::Part::Where::elsewhere)
    request.request_id = session_->context().next_request_id();
  request.values = values_of(part, feeds);
  // Shares this object's count but points at the part: small enough to need no allocation.
  std::shared_ptr<Part> self(shared_from_this(), &parts_[index]);
  part.graph->run(std::move(request), call,
                  Done<RunGraphReply>([self = std::move(self)](Result<RunGraphReply> reply) {
                    self->run->replied(self->index, std::move(reply));
                  }));
}

std::vector<Tensor> StepRun::values_of(const PreparedPart& part, std::vector<Tensor>& feeds) const {
  if (ordered_->feeds_in_order) return std::move(feeds);
  std::vector<Tensor> values;
  values.reserve(part.feeds.size());
  const bool is_only = ordered_->step->parts.size() == 1;
  for (const uint32_t feed : part.feeds) {
    Tensor& value = feeds[ordered_->feed_at[feed]];
    values.push_back(is_only ? std::move(value) : value);
  }
  return values;
}

void StepRun::replied(size_t index, Result<RunGraphReply> reply) {
  // A master that was frozen, or had no processor, may get the word of a worker that ended its part
  // for lateness before it looks at the clock itself.
  const bool is_late =
      deadline_ && reply.status().is_consequence() && session_->context().now() >= *deadline_;
  if (is_late) stop(EarlyEnd::late(what()));
  StepTracker::Actions actions;
  {
    MutexLock lock(mutex_);
    Status status = reply.status();
    if (status.ok() && !tracker_.is_client_answered())
      status = keep(ordered_->step->parts[index], std::move(reply).value());
    actions = tracker_.on_reply(index, std::move(status));
  }
  perform(actions);
}

Status StepRun::keep(const PreparedPart& part, RunGraphReply reply) {
  metadata_.traces.append(std::move(reply.traces));
  metadata_.partition_graphs.append(std::move(reply.partition_graphs));
  if (reply.values.size() != part.fetches.size()) {
    return internal(part.worker_name, " answered with ", reply.values.size(), " values where ",
                    part.fetches.size(), " were asked for");
  }
  for (size_t i = 0; i < reply.values.size(); ++i) {
    const uint32_t fetch = part.fetches[i];
    if (reply.values[i].is_dead) {
      return invalid("The tensor returned for ", ordered_->step->fetches[fetch],
                     " was not valid: the branch of the graph that makes it did not run.");
    }
    fetched_[fetch] = std::move(reply.values[i].tensor);
  }
  return {};
}

void StepRun::stop(Status why) {
  StepTracker::Actions actions;
  {
    MutexLock lock(mutex_);
    if (why.code() == Code::deadline_exceeded) why = why.then(what_is_left());
    actions = tracker_.on_stop(std::move(why));
  }
  perform(actions);
}

std::string StepRun::what_is_left() const {
  std::vector<std::string_view> tasks;
  for (size_t i = 0; i < ordered_->step->parts.size(); ++i)
    if (tracker_.is_pending(i)) tasks.push_back(ordered_->step->parts[i].worker_name);
  const PreparedStep& step = *ordered_->step;
  std::string text;
  for (const auto& [what, names] : {std::pair("; it fetches ", first_of(step.fetches)),
                                    std::pair("; it runs ", first_of(step.targets)),
                                    std::pair("; not finished is ", first_of(tasks))}) {
    if (!names.empty()) str_append(&text, what, names);
  }
  return text;
}

void StepRun::perform(const StepTracker::Actions& actions) {
  if (!actions.cancel_parts.ok()) {
    if (!uses_caller_) be_patient();
    cancellation_.cancel(actions.cancel_parts);
  }
  if (actions.answer) answer();
  if (actions.is_over) end();
}

void StepRun::be_patient() {
  MasterContext& context = session_->context();
  auto timer =
      context.host().timers.at(context.now() + context.options.parts_patience,
                               [weak = weak_from_this(), &endings = context.host().endings] {
                                 endings.post([weak] {
                                   auto self = weak.lock();
                                   if (!self) return;
                                   StepTracker::Actions actions;
                                   {
                                     MutexLock lock(self->mutex_);
                                     actions = self->tracker_.on_patience_end();
                                   }
                                   self->perform(actions);
                                 });
                               });
  MutexLock lock(mutex_);
  patience_ = std::move(timer);
}

bool StepRun::wants_costs(const PreparedStep& step) const {
  const SessionOptions& options = session_->options();
  if (options.cost_model_every <= 0 || leg_.kind != StepLeg::Kind::whole_step) return false;
  const int64_t number = 1 + step.num_begun.fetch_add(1, std::memory_order_relaxed);
  return number > options.cost_model_after &&
         (number - options.cost_model_after) % options.cost_model_every == 0;
}

// What was only needed for that, the client did not ask for.
void StepRun::tell_costs(RunMetadata& metadata) const {
  metadata.costs = cost_graph_of(metadata.traces, metadata.partition_graphs);
  if (options_.trace == Trace::off) metadata.traces = {};
  if (!options_.output_partition_graphs) metadata.partition_graphs = {};
}

void StepRun::answer() {
  // The client may drop its cancellation as soon as it is answered. Not destroyed with the lock:
  // what ends the step early may be waiting for it.
  std::optional<EarlyEnd> early_end;
  Status outcome;
  std::vector<Tensor> tensors;
  RunMetadata metadata;
  {
    MutexLock lock(mutex_);
    early_end.swap(early_end_);
    outcome = tracker_.outcome();
    tensors = std::move(fetched_);
    metadata = std::move(metadata_);
  }
  early_end.reset();
  if (!outcome.ok()) {
    session_->context().host().metrics.add(Counter::steps_failed);
    refuse(std::move(answer_), std::move(outcome));
  } else {
    if (costs_) tell_costs(metadata);
    if (!ordered_->fetches_in_order) tensors = in_client_order(tensors, *ordered_);
    std::visit([&](auto& done) { give(done, std::move(tensors), std::move(metadata)); }, answer_);
  }
}

void StepRun::end() {
  // The client does not wait for this; closing the session does.
  if (leg_.kind == StepLeg::Kind::whole_step && ordered_->step->needs_cleanup()) clean_up();
}

void StepRun::clean_up() {
  clean_up_step(session_->context(), *ordered_->step, leg_.step_id, shared_from_this());
}

void clean_up_step(MasterContext& context, const PreparedStep& step, int64_t step_id,
                   const std::shared_ptr<const void>& keep) {
  const Call call = context.cleanup_call();
  for (const PreparedPart& part : step.parts) {
    // Whatever it says: a worker that is gone has nothing left to clean up.
    part.worker->cleanup_graph({step_id}, call, Done<void>([keep](Status) {}));
  }
}

}  // namespace millrace
