#include "millrace/master/master_session.h"

#include <utility>

#include "millrace/base/attentive_thread.h"
#include "millrace/base/shown.h"
#include "millrace/master/gather.h"
#include "millrace/master/partial_run.h"
#include "millrace/master/step_registration.h"

namespace millrace {

namespace {

Status check_run_options(const RunOptions& options) {
  if (options.timeout.count() >= 0) return {};
  return invalid("timeout_in_ms is ", options.timeout.count(), "; it must be 0 (none) or more");
}

// A client that waits for a step to be prepared, which others may wait for, too: it may leave
// early.
class Waiting : public std::enable_shared_from_this<Waiting> {
 public:
  explicit Waiting(Done<PlanCache::Ordered> done) : done_(std::move(done)) {}

  void watch(MasterContext& context, const Call& call) {
    EarlyEnd early_end(context.host(), call, "the step to be planned",
                       [weak = weak_from_this()](const Status& why) {
                         if (auto self = weak.lock()) self->end(why);
                       });
    MutexLock lock(mutex_);
    if (done_) early_end_ = std::move(early_end);
  }
  void end(Result<PlanCache::Ordered> result) {
    Done<PlanCache::Ordered> done;
    {
      EarlyEnd early_end;  // gone before the answer: the client may drop its cancellation then
      MutexLock lock(mutex_);
      done = std::move(done_);
      early_end = std::move(early_end_);
    }
    if (done) done(std::move(result));
  }

 private:
  Mutex mutex_;
  EarlyEnd early_end_ MR_GUARDED_BY(mutex_);
  Done<PlanCache::Ordered> done_ MR_GUARDED_BY(mutex_);
};

}  // namespace

Status closed_error() { return failed_precondition("Session is closed."); }

Status no_session(const std::string& handle) {
  return aborted("Session ", shown(handle), " is not found. Possibly, this master has restarted.");
}

MasterSession::MasterSession(MasterContext& context, Parts parts)
    : context_(context),
      token_(context.in_flight.enter()),
      handle_(std::move(parts.handle)),
      options_(std::move(parts.options)),
      membership_(std::move(parts.membership)),
      members_(std::move(parts.members)),
      graph_(std::move(parts.graph)),
      plans_(context.options.kept_steps,
             [this](const StepRequestNames& names, Done<PlanCache::Prepared> done) {
               plan_and_register(names, std::move(done));
             }) {
  MutexLock lock(mutex_);
  running_.previous = running_.next = &running_;
}

MasterSession::~MasterSession() { is_open_->store(false, std::memory_order_release); }

ListDevicesReply MasterSession::devices() const {
  ListDevicesReply reply;
  for (const Present& present : members_) {
    // In a cluster that the client sent only the master's own devices are local to it; otherwise
    // clients expect all of a session's devices in one list.
    const bool is_local = !membership_.is_sent || present.member.task == membership_.self;
    auto& list = is_local ? reply.local : reply.remote;
    list.insert(list.end(), present.devices.begin(), present.devices.end());
  }
  return reply;
}

Status MasterSession::check_open() {
  MutexLock lock(mutex_);
  return closed_.ok() ? Status() : closed_error();
}

Call MasterSession::within(const Call& call, const RunOptions& options) const {
  Call limited = call;
  limited.deadline = EarlyEnd::deadline(
      call, options.timeout.count() > 0 ? options.timeout : options_.operation_timeout,
      context_.now());
  return limited;
}

Result<ExtendSessionReply> MasterSession::extend(const ExtendSessionRequest& request) {
  MR_TRY(check_open());
  auto version = graph_->extend(request.graph, request.current_graph_version);
  if (!version.ok()) return explain_absence(version.status(), membership_, tasks_of(members_));
  return ExtendSessionReply{*version};
}

void MasterSession::prepare(StepRequestNames names, const Call& call,
                            Done<PlanCache::Ordered> done) {
  auto waiting = std::make_shared<Waiting>(std::move(done));
  waiting->watch(context_, call);
  auto get = [self = shared_from_this(), names = std::move(names), waiting]() mutable {
    self->plans_.get(std::move(names),
                     Done<PlanCache::Ordered>([waiting](Result<PlanCache::Ordered> step) {
                       waiting->end(std::move(step));
                     }));
  };
  // Planning a large graph takes a while: only a caller that waits anyway does it itself, and has
  // nothing else to do.
  if (call.waiting && AttentiveThread::of(call.runner) == nullptr) {
    get();
  } else {
    context_.host().pool.post(std::move(get));
  }
}

void MasterSession::plan_and_register(const StepRequestNames& names,
                                      Done<PlanCache::Prepared> done) {
  if (Status open = check_open(); !open.ok()) {
    done(std::move(open));
    return;
  }
  auto plan = graph_->plan(names);
  if (!plan.ok()) {
    done(plan.status());
    return;
  }
  // Cancelled when the session closes, so it must live until this is done.
  register_step({context_, handle_, members_, membership_.self, is_open_, options_.threads}, names,
                std::move(plan).value(), {.cancellation = &closing_},
                Done<PlanCache::Prepared>(
                    [self = shared_from_this(), done = std::move(done)](
                        Result<PlanCache::Prepared> step) mutable { done(std::move(step)); }));
}

void MasterSession::run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  Status fault = check_run_options(request.options);
  std::shared_ptr<PartialRun> partial;
  if (fault.ok() && !request.partial_run_handle.empty()) {
    MutexLock lock(mutex_);
    const auto found = partial_runs_.find(request.partial_run_handle);
    if (found != partial_runs_.end()) {
      partial = found->second;
    } else {
      fault = closed_.ok() ? invalid("Must run PartialRunSetup before performing partial runs")
                           : closed_error();
    }
  }
  if (!fault.ok()) {
    done(std::move(fault));
    return;
  }
  const Call limited = within(call, request.options);
  if (partial) {
    partial->run_leg(std::move(request), limited, std::move(done));
    return;
  }
  std::vector<Tensor> feeds;
  feeds.reserve(request.feeds.size());
  for (NamedTensor& feed : request.feeds) feeds.push_back(std::move(feed.tensor));
  if (PlanCache::Ordered known = plans_.find(hash_of(request), request)) {
    StepRun::start(shared_from_this(), std::move(known), std::move(feeds), request.options, limited,
                   std::move(done));
    return;
  }
  prepare(names_of(request), limited,
          Done<PlanCache::Ordered>(
              [self = shared_from_this(), feeds = std::move(feeds), options = request.options,
               limited, done = std::move(done)](Result<PlanCache::Ordered> step) mutable {
                if (!step.ok()) {
                  done(step.status());
                  return;
                }
                StepRun::start(self, std::move(step).value(), std::move(feeds), options, limited,
                               std::move(done));
              }));
}

void MasterSession::make_callable(MakeCallableRequest request, const Call& call,
                                  Done<MakeCallableReply> done) {
  if (Status fault = check_run_options(request.options); !fault.ok()) {
    done(std::move(fault));
    return;
  }
  prepare(
      {std::move(request.feeds), std::move(request.fetches), std::move(request.targets),
       std::move(request.connections)},
      within(call, {}),
      Done<PlanCache::Ordered>([self = shared_from_this(), options = request.options,
                                done = std::move(done)](Result<PlanCache::Ordered> step) mutable {
        if (!step.ok()) {
          done(step.status());
          return;
        }
        done(self->keep_callable(*std::move(step), options));
      }));
}

void MasterSession::partial_run_setup(PartialRunSetupRequest request, const Call& call,
                                      Done<PartialRunSetupReply> done) {
  StepRequestNames names{std::move(request.feeds), std::move(request.fetches),
                         std::move(request.targets)};
  prepare(names, within(call, {}),
          Done<PlanCache::Ordered>([self = shared_from_this(), done = std::move(done)](
                                       Result<PlanCache::Ordered> step) mutable {
            if (!step.ok()) {
              done(step.status());
              return;
            }
            done(self->keep_partial_run((*step)->step));
          }));
}

Result<PartialRunSetupReply> MasterSession::keep_partial_run(
    std::shared_ptr<const PreparedStep> step) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_error();
  if (partial_runs_.size() >= context_.options.most_partial_runs)
    return error(
        Code::resource_exhausted, "the session has ", partial_runs_.size(),
        " partial runs that have not ended, the most that a master allows; fetch what they "
        "announced, or close the session");
  PartialRunSetupReply reply{str_cat(next_partial_run_++)};
  partial_runs_.emplace(reply.partial_run_handle,
                        std::make_shared<PartialRun>(shared_from_this(), reply.partial_run_handle,
                                                     std::move(step), *graph_));
  return reply;
}

void MasterSession::forget_partial_run(const std::string& handle) {
  MutexLock lock(mutex_);
  partial_runs_.erase(handle);
}

Status MasterSession::enter(StepRun& step) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_error();
  step.next = &running_;
  step.previous = running_.previous;
  running_.previous->next = &step;
  running_.previous = &step;
  return {};
}

void MasterSession::leave(StepRun& step) {
  {
    MutexLock lock(mutex_);
    step.previous->next = step.next;
    step.next->previous = step.previous;
    if (closed_.ok() || running_.next != &running_ || !close_done_) return;
  }
  // The last one out: on the pool, because this is the end of a step's destructor.
  context_.host().pool.post([self = shared_from_this()] { self->delete_worker_sessions(); });
}

void MasterSession::close(const Status& why, Done<void> done) {
  std::vector<std::shared_ptr<StepRun>> running;
  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs;
  std::vector<PlanCache::Ordered> dropped;
  bool is_idle = false;
  // The workers drop all that they have of the session at once.
  is_open_->store(false, std::memory_order_release);
  {
    MutexLock lock(mutex_);
    closed_ = why;
    partial_runs.swap(partial_runs_);
    dropped = take_callables();
    for (RunningStep* step = running_.next; step != &running_; step = step->next) {
      // A step that is just being destroyed can't be held any more; it will leave by itself.
      if (auto held = static_cast<StepRun*>(step)->weak_from_this().lock())
        running.push_back(std::move(held));
    }
    is_idle = running_.next == &running_;
    close_done_ = std::move(done);
  }
  closing_.cancel(why.as_consequence());
  for (const auto& step : running) step->stop(why);
  for (const auto& [handle, run] : partial_runs) run->abandon();
  if (is_idle) delete_worker_sessions();
}

void MasterSession::delete_worker_sessions() {
  Done<void> done;
  {
    MutexLock lock(mutex_);
    done = std::move(close_done_);
  }
  if (!done) return;
  // The last answer may end this session.
  millrace::delete_worker_sessions(
      context_, members_, handle_,
      Done<void>([self = shared_from_this(), done = std::move(done)](Status status) mutable {
        done(std::move(status));
      }));
}

void delete_worker_sessions(MasterContext& context, std::vector<Present> members,
                            const std::string& handle, Done<void> done) {
  const Call call = context.cleanup_call();
  auto answers = gather<void>(
      members.size(), [&context, token = context.in_flight.enter(), members, handle,
                       done = std::move(done)](const std::vector<Status>& outcomes) mutable {
        for (size_t i = 0; i < outcomes.size(); ++i)
          if (!outcomes[i].ok()) context.left_sessions.note(members[i].member.address, handle);
        done(Status());
      });
  for (size_t i = 0; i < members.size(); ++i)
    members[i].worker->delete_worker_session({handle}, call, std::move(answers[i]));
}

}  // namespace millrace
