// Part of master_session.h: callables, the steps that clients keep ready.
#include <utility>

#include "millrace/master/master_session.h"

namespace millrace {

class MasterSession::Callable final : public KeptCallable,
                                      public std::enable_shared_from_this<Callable> {
 public:
  Callable(const std::shared_ptr<MasterSession>& session, int64_t handle, PlanCache::Ordered step,
           const RunOptions& options)
      : handle(handle),
        options(options),
        step(std::move(step)),
        session_(session),
        session_handle_(session->handle()) {}

  void run(std::vector<Tensor> feeds, Call call, Done<RunCallableReply> done) override {
    const auto session = session_.lock();
    if (session == nullptr) return done(no_session(session_handle_));
    session->call_callable(shared_from_this(), std::move(feeds), call, std::move(done));
  }

  const int64_t handle;
  const RunOptions options;
  // Under the session's lock.
  PlanCache::Ordered step;  // null: let go, to be prepared anew
  StepRequestNames names;   // of a step that was let go
  uint64_t last_use = 0;    // by the count of uses
  bool is_released = false;

 private:
  const std::weak_ptr<MasterSession> session_;
  const std::string session_handle_;
};

Result<MakeCallableReply> MasterSession::keep_callable(PlanCache::Ordered step,
                                                       const RunOptions& options) {
  PlanCache::Ordered dropped;  // without the lock: with it may go what workers have of it
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_error();
  if (callables_.size() >= context_.options.most_callables)
    return error(Code::resource_exhausted, "the session keeps ", callables_.size(),
                 " callables, the most that a master allows; release some");
  auto made =
      std::make_shared<Callable>(shared_from_this(), ++last_callable_, std::move(step), options);
  made->last_use = ++uses_;
  callables_.emplace(made->handle, made);
  ++callables_with_step_;
  dropped = take_oldest_step();
  return MakeCallableReply{made->handle, made};
}

void MasterSession::renew_callable(Callable& callable, const PlanCache::Ordered& step) {
  PlanCache::Ordered dropped;
  MutexLock lock(mutex_);
  if (callable.is_released || callable.step) return;
  callable.step = step;
  callable.names = {};
  ++callables_with_step_;
  dropped = take_oldest_step();
}

PlanCache::Ordered MasterSession::take_oldest_step() {
  if (callables_with_step_ <= context_.options.kept_steps) return nullptr;
  Callable* oldest = nullptr;
  for (const auto& [handle, callable] : callables_) {
    if (callable->step && (oldest == nullptr || callable->last_use < oldest->last_use))
      oldest = callable.get();
  }
  --callables_with_step_;
  oldest->names = oldest->step->names;
  return std::move(oldest->step);
}

void MasterSession::run_callable(RunCallableRequest request, const Call& call,
                                 Done<RunCallableReply> done) {
  std::shared_ptr<Callable> callable;
  bool was_made = false;
  {
    MutexLock lock(mutex_);
    const auto found = callables_.find(request.handle);
    if (found != callables_.end()) callable = found->second;
    was_made = request.handle > 0 && request.handle <= last_callable_;
  }
  if (callable) {
    call_callable(callable, std::move(request.feeds), call, std::move(done));
  } else if (Status open = check_open(); !open.ok()) {
    done(std::move(open));
  } else if (was_made) {
    done(invalid("Attempted to run callable after handle was released: ", request.handle));
  } else {
    done(invalid("No such callable handle: ", request.handle));
  }
}

void MasterSession::call_callable(const std::shared_ptr<Callable>& callable,
                                  std::vector<Tensor> feeds, const Call& call,
                                  Done<RunCallableReply> done) {
  PlanCache::Ordered step;
  StepRequestNames names;
  bool is_open = false;
  {
    MutexLock lock(mutex_);
    is_open = closed_.ok();
    callable->last_use = ++uses_;
    step = callable->step;
    if (!step) names = callable->names;
  }
  if (!is_open)
    return done(context_.stopping.cancelled() ? context_.stopping.reason() : no_session(handle_));
  const Call limited = within(call, callable->options);
  if (step) {
    StepRun::start(shared_from_this(), std::move(step), std::move(feeds), callable->options,
                   limited, std::move(done));
    return;
  }
  prepare(std::move(names), limited,
          Done<PlanCache::Ordered>(
              [self = shared_from_this(), callable, feeds = std::move(feeds), limited,
               done = std::move(done)](Result<PlanCache::Ordered> again) mutable {
                if (!again.ok()) return done(again.status());
                self->renew_callable(*callable, *again);
                StepRun::start(self, *std::move(again), std::move(feeds), callable->options,
                               limited, std::move(done));
              }));
}

Status MasterSession::release_callable(int64_t handle) {
  PlanCache::Ordered dropped;
  MutexLock lock(mutex_);
  const auto found = callables_.find(handle);
  if (found == callables_.end()) return {};
  Callable& released = *found->second;
  released.is_released = true;
  if (released.step) --callables_with_step_;
  dropped = std::move(released.step);
  callables_.erase(found);
  return {};
}

std::vector<PlanCache::Ordered> MasterSession::take_callables() {
  std::vector<PlanCache::Ordered> steps;
  for (const auto& [handle, callable] : callables_) {
    callable->is_released = true;
    steps.push_back(std::move(callable->step));
  }
  callables_.clear();
  return steps;
}

}  // namespace millrace
