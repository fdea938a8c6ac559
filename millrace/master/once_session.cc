#include "millrace/master/once_session.h"

#include <utility>

#include "millrace/master/early_end.h"
#include "millrace/master/master_session.h"

namespace millrace {
namespace {

constexpr size_t kMostKinds = 2'000;  // as many as a master keeps steps

// The lease after what the client feeds; and what has the step made under it, whose result is only
// wanted of a step that takes.
template <class Request>
void run_under_lease(Request& request, OnceBook::Kind kind) {
  if (kind == OnceBook::Kind::takes) {
    request.fetches.emplace_back(OnceGraph::kAfter);
  } else {
    request.targets.emplace_back(OnceGraph::kAfterNode);
  }
}

// As the master says it of those that it made itself.
Status no_callable(int64_t handle) {
  return invalid("Attempted to run callable after handle was released: ", handle);
}

}  // namespace

// What a client in this process holds. May outlive the session.
class OnceSession::KeptOnce final : public KeptCallable {
 public:
  KeptOnce(std::weak_ptr<OnceSession> session, std::string handle,
           std::shared_ptr<Callable> callable)
      : session_(std::move(session)), handle_(std::move(handle)), callable_(std::move(callable)) {}
  void run(std::vector<Tensor> feeds, Call call, Done<RunCallableReply> done) override {
    const auto session = session_.lock();
    if (session == nullptr) return done(no_session(handle_));
    session->call(callable_, std::move(feeds), call, std::move(done));
  }

 private:
  const std::weak_ptr<OnceSession> session_;
  const std::string handle_;
  const std::shared_ptr<Callable> callable_;
};

void OnceSession::add_to(wire::GraphDef& graph, Part part) {
  MutexLock lock(mutex_);
  kinds_.clear();
  graph_.extend(graph);
  if (part == Part::further) return;
  wire::GraphDef own = graph_.own_nodes();
  for (wire::NodeDef& node : own.nodes) graph.nodes.push_back(std::move(node));
}

void OnceSession::begin(std::string handle, std::shared_ptr<LastingSession> lasting) {
  handle_ = std::move(handle);
  lasting_ = std::move(lasting);
}

OnceGraph::StepKind OnceSession::kind_of(const StepRequestNames& names) {
  MutexLock lock(mutex_);
  const auto known = kinds_.find(names);
  if (known != kinds_.end()) return known->second;
  if (kinds_.size() >= kMostKinds) kinds_.clear();
  return kinds_[names] = graph_.kind_of(names);
}

Result<OnceSession::Begun> OnceSession::begin(const OnceGraph::StepKind& kind, uint64_t signature,
                                              Tensor* lease) {
  MutexLock lock(mutex_);
  return begin_locked(kind, signature, lease);
}

Result<OnceSession::Begun> OnceSession::begin_locked(const OnceGraph::StepKind& kind,
                                                     uint64_t signature, Tensor* lease) {
  Begun begun;
  if (!kind.takes && !(kind.updates && book_.has_lease())) return begun;
  if (!fed_.is_sole_owner()) fed_ = Tensor::scalar(std::string());
  MR_ASSIGN(begun.step, book_.begin(kind.takes ? Kind::takes : Kind::updates, signature,
                                    fed_.mutable_flat<std::string>().data()));
  *lease = fed_;
  if (kind.takes) begun.dequeue = kind.dequeue;
  return begun;
}

template <class Reply>
void OnceSession::finish(const Begun& begun, Result<Reply>&& reply, Done<Reply>&& done) {
  if (begun.step->kind == Kind::updates) {
    {
      MutexLock lock(mutex_);
      book_.end_update(*begun.step, reply.status());
    }
    return done(std::move(reply));
  }
  Tensor given;
  std::string_view after;
  if (reply.ok()) {
    given = std::move(reply->tensors.back());
    reply->tensors.pop_back();
    after = given.item<std::string>();
  }
  Dequeue taken_by;  // what is left to be acknowledged
  bool is_another = false;
  Result<std::string> left = std::string();
  {
    MutexLock lock(mutex_);
    const uint64_t before = book_.life();
    left = book_.end(*begun.step, reply.status(), after);
    is_another = book_.life() != before;
    if (is_another) {
      taken_by = std::exchange(dequeue_, begun.dequeue);
      set_heartbeat();
    }
  }
  if (is_another && lasting_ != nullptr) lasting_->let_go_of_earlier();
  if (!left.ok()) return done(std::move(left).status());
  if (left->empty()) return done(std::move(reply));
  acknowledge(*std::move(left), taken_by,
              Done<void>([reply = std::move(reply), done = std::move(done)](Status) mutable {
                done(std::move(reply));
              }));
}

// Answers in any case: what could not be acknowledged comes back, and is found done by whoever
// takes it then.
void OnceSession::acknowledge(std::string lease, const Dequeue& dequeue, Done<void> done) {
  if (dequeue == nullptr) return done(Status());
  RunStepRequest request;
  request.feeds.push_back({std::string(OnceGraph::kLease), Tensor::scalar(std::move(lease))});
  request.targets.push_back(str_cat("_once/end/", *dequeue));
  run_own(std::move(request), {.deadline = host_.clock.now() + lease_},
          Done<RunStepReply>([self = shared_from_this(),
                              done = std::move(done)](Result<RunStepReply> reply) mutable {
            if (!reply.ok()) {
              self->host_.log.warning("an element could not be acknowledged, and comes ",
                                      "back: ", reply.status().to_string());
            }
            done(Status());
          }));
}

// Steps of the session's own, which do no harm when they fail.
void OnceSession::run_own(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  if (lasting_ == nullptr) {
    request.session_handle = handle_;
    return master_.run_step(std::move(request), call, std::move(done));
  }
  lasting_->life(call, Done<Life>([this, self = shared_from_this(), request = std::move(request),
                                   call, done = std::move(done)](Result<Life> life) mutable {
                   if (!life.ok()) return done(life.status());
                   request.session_handle = life->handle;
                   master_.run_step(std::move(request), call, std::move(done));
                 }));
}

// An update may be made again under a lease only: its owner then knows whether it was made.
Again OnceSession::again(const OnceGraph::StepKind& kind, const Begun& begun) const {
  if (!begun.step) return kind.updates ? Again::no : Again::yes;
  return begun.step->kind == Kind::takes ? Again::takes : Again::yes;
}

void OnceSession::run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  const OnceGraph::StepKind kind = kind_of(names_of(request));
  Tensor lease;
  auto begun = begin(kind, hash_of(request), &lease);
  if (!begun.ok()) return done(std::move(begun).status());
  if (!begun->step && lasting_ == nullptr)
    return master_.run_step(std::move(request), call, std::move(done));
  const Again again = this->again(kind, *begun);
  if (begun->step) {
    request.feeds.push_back({std::string(OnceGraph::kLease), std::move(lease)});
    run_under_lease(request, begun->step->kind);
    done = Done<RunStepReply>([self = shared_from_this(), begun = *std::move(begun),
                               done = std::move(done)](Result<RunStepReply> reply) mutable {
      self->finish(begun, std::move(reply), std::move(done));
    });
  }
  if (lasting_ == nullptr) return master_.run_step(std::move(request), call, std::move(done));
  const Call limited = within(call, request.options);
  make_lasting<RunStepReply>(lasting_, again, limited, std::move(done),
                             [self = shared_from_this(), request = std::move(request)](
                                 const Life& life, const Call& call, Done<RunStepReply> done) {
                               RunStepRequest made = request;
                               made.session_handle = life.handle;
                               self->master_.run_step(std::move(made), call, std::move(done));
                             });
}

// The client's time is that of all attempts together.
Call OnceSession::within(const Call& call, const RunOptions& options) const {
  Call limited = call;
  limited.deadline = EarlyEnd::deadline(call, options.timeout, host_.clock.now());
  return limited;
}

// A leg has its life's number before its handle: what began in one life is nothing in the next.
void OnceSession::partial_run_setup(PartialRunSetupRequest request, const Call& call,
                                    Done<PartialRunSetupReply> done) {
  Status fault = may_run_in_legs({request.feeds, request.fetches, request.targets});
  if (!fault.ok()) return done(std::move(fault));
  if (lasting_ == nullptr)
    return master_.partial_run_setup(std::move(request), call, std::move(done));
  make_lasting<PartialRunSetupReply>(
      lasting_, Again::yes, call, std::move(done),
      [self = shared_from_this(), request = std::move(request)](const Life& life, const Call& call,
                                                                Done<PartialRunSetupReply> done) {
        PartialRunSetupRequest made = request;
        made.session_handle = life.handle;
        self->master_.partial_run_setup(
            std::move(made), call,
            Done<PartialRunSetupReply>([number = life.number, done = std::move(done)](
                                           Result<PartialRunSetupReply> reply) mutable {
              if (reply.ok())
                reply->partial_run_handle = str_cat(number, "/", reply->partial_run_handle);
              done(std::move(reply));
            }));
      });
}

void OnceSession::run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  if (lasting_ == nullptr) return master_.run_step(std::move(request), call, std::move(done));
  make_lasting<RunStepReply>(
      lasting_, Again::no, call, std::move(done),
      [self = shared_from_this(), request = std::move(request)](const Life& life, const Call& call,
                                                                Done<RunStepReply> done) {
        const std::string mark = str_cat(life.number, "/");
        if (!request.partial_run_handle.starts_with(mark)) {
          return done(failed_precondition("the partial run '", request.partial_run_handle,
                                          "' ended when a task of the session was lost; set it up "
                                          "again"));
        }
        RunStepRequest made = request;
        made.session_handle = life.handle;
        made.partial_run_handle.erase(0, mark.size());
        self->master_.run_step(std::move(made), call, std::move(done));
      });
}

Status OnceSession::may_run_in_legs(const StepRequestNames& names) {
  const OnceGraph::StepKind kind = kind_of(names);
  MutexLock lock(mutex_);
  if (kind.takes) {
    return unimplemented("a partial run dequeues in a session that counts once; dequeue in run()");
  }
  if (!kind.updates || !book_.has_lease()) return {};
  return unimplemented(
      "a partial run updates state in a session that counts once and has taken an element, whose "
      "updates are made once only in run(); use that, or a session without");
}

// ---- Callables ---------------------------------------------------------------------------------

void OnceSession::make_callable(MakeCallableRequest request, const Call& call,
                                Done<MakeCallableReply> done) {
  auto made = std::make_shared<Callable>();
  made->names = {request.feeds, request.fetches, request.targets, request.connections};
  made->signature = hash_of(made->names);
  made->options = request.options;
  made->kind = kind_of(made->names);
  if (!made->kind.takes && !made->kind.updates && lasting_ == nullptr)
    return master_.make_callable(std::move(request), call, std::move(done));
  auto keep = Done<Life>([self = shared_from_this(), made,
                          done = std::move(done)](Result<Life> life) mutable {
    if (!life.ok()) return done(std::move(life).status());
    MutexLock lock(self->mutex_);
    // Each life of a session counts anew.
    made->handle =
        self->lasting_ ? ++self->last_callable_ : made->made(made->kind.takes).callable.handle;
    self->callables_.emplace(made->handle, made);
    done(MakeCallableReply{made->handle, std::make_shared<KeptOnce>(self, self->handle_, made)});
  });
  const bool is_leased = made->kind.takes;
  if (lasting_ == nullptr)
    return make_at_master(made, is_leased, {0, handle_}, call, std::move(keep));
  make_lasting<Life>(lasting_, Again::yes, call, std::move(keep),
                     [self = shared_from_this(), made, is_leased](
                         const Life& life, const Call& call, Done<Life> done) {
                       self->make_at_master(made, is_leased, life, call, std::move(done));
                     });
}

// Makes a callable in a life of the session, unless it is made there; answers with that life.
void OnceSession::make_at_master(const std::shared_ptr<Callable>& callable, bool is_leased,
                                 const Life& life, const Call& call, Done<Life> done) {
  MakeCallableRequest request{life.handle,
                              callable->names.feeds,
                              callable->names.fetches,
                              callable->names.targets,
                              callable->options,
                              callable->names.connections};
  if (is_leased) {
    request.feeds.emplace_back(OnceGraph::kLease);
    run_under_lease(request, callable->kind.takes ? Kind::takes : Kind::updates);
  }
  master_.make_callable(
      std::move(request), call,
      Done<MakeCallableReply>([self = shared_from_this(), callable, is_leased, life,
                               done = std::move(done)](Result<MakeCallableReply> reply) mutable {
        if (!reply.ok()) return done(std::move(reply).status());
        const int64_t handle = reply->handle;
        bool is_spare = false;  // somebody else has made one meanwhile, or it was released
        {
          MutexLock lock(self->mutex_);
          Made& made = callable->made(is_leased);
          const bool is_released =
              callable->handle != 0 && !self->callables_.contains(callable->handle);
          is_spare = is_released || (made.callable.handle != 0 && made.life >= life.number);
          if (!is_spare) made = {*std::move(reply), life.number};
        }
        if (is_spare) self->release_at_master(life.handle, handle);
        done(life);
      }));
}

std::shared_ptr<OnceSession::Callable> OnceSession::find_callable(int64_t handle) {
  MutexLock lock(mutex_);
  const auto found = callables_.find(handle);
  return found == callables_.end() ? nullptr : found->second;
}

void OnceSession::run_callable(RunCallableRequest request, const Call& call,
                               Done<RunCallableReply> done) {
  auto callable = find_callable(request.handle);
  if (callable == nullptr && lasting_ != nullptr) return done(no_callable(request.handle));
  if (callable == nullptr) return master_.run_callable(std::move(request), call, std::move(done));
  this->call(std::move(callable), std::move(request.feeds), call, std::move(done));
}

void OnceSession::call(std::shared_ptr<Callable> callable, std::vector<Tensor> feeds,
                       const Call& call, Done<RunCallableReply> done) {
  Tensor lease;
  MakeCallableReply known;  // of a session that has but one life
  auto begun = [&] {
    MutexLock lock(mutex_);
    auto made = begin_locked(callable->kind, callable->signature, &lease);
    if (made.ok() && lasting_ == nullptr) known = callable->made(made->step.has_value()).callable;
    return made;
  }();
  if (!begun.ok()) return done(std::move(begun).status());
  const Again again = this->again(callable->kind, *begun);
  const bool is_leased = begun->step.has_value();
  if (is_leased) {
    feeds.push_back(std::move(lease));
    done = Done<RunCallableReply>([self = shared_from_this(), begun = *std::move(begun),
                                   done = std::move(done)](Result<RunCallableReply> reply) mutable {
      self->finish(begun, std::move(reply), std::move(done));
    });
  }
  if (known.handle != 0)
    return call_at_master(known, handle_, std::move(feeds), call, std::move(done));
  if (lasting_ == nullptr)
    return call_made(callable, is_leased, {0, handle_}, std::move(feeds), call, std::move(done));
  const Call limited = within(call, callable->options);
  make_lasting<RunCallableReply>(
      lasting_, again, limited, std::move(done),
      [self = shared_from_this(), callable = std::move(callable), is_leased,
       feeds = std::move(feeds)](const Life& life, const Call& call, Done<RunCallableReply> done) {
        self->call_made(callable, is_leased, life, feeds, call, std::move(done));
      });
}

void OnceSession::call_made(const std::shared_ptr<Callable>& callable, bool is_leased,
                            const Life& life, std::vector<Tensor> feeds, const Call& call,
                            Done<RunCallableReply> done) {
  MakeCallableReply known;
  bool is_released = false, is_over = false;
  {
    MutexLock lock(mutex_);
    const Made& made = callable->made(is_leased);
    if (made.life == life.number) known = made.callable;
    if (known.handle == 0) {
      is_over = made.life > life.number;
      is_released = !callables_.contains(callable->handle);
    }
  }
  if (known.handle != 0)
    return call_at_master(known, life.handle, std::move(feeds), call, std::move(done));
  if (is_released) return done(no_callable(callable->handle));
  if (is_over) return done(aborted("the session has gone on in another life"));
  // The callee of the second call may need what the first one had: the caller waits for both.
  make_at_master(
      callable, is_leased, life, call,
      Done<Life>([self = shared_from_this(), callable, is_leased, feeds = std::move(feeds), call,
                  done = std::move(done)](Result<Life> life) mutable {
        if (!life.ok()) return done(std::move(life).status());
        self->call_made(callable, is_leased, *life, std::move(feeds), call, std::move(done));
      }));
}

// By pointer where the master behind gave one.
void OnceSession::call_at_master(const MakeCallableReply& made, const std::string& handle,
                                 std::vector<Tensor> feeds, const Call& call,
                                 Done<RunCallableReply> done) {
  if (made.callable != nullptr) return made.callable->run(std::move(feeds), call, std::move(done));
  master_.run_callable({handle, made.handle, std::move(feeds)}, call, std::move(done));
}

void OnceSession::release_callable(ReleaseCallableRequest request, const Call& call,
                                   Done<void> done) {
  std::shared_ptr<Callable> released;
  {
    MutexLock lock(mutex_);
    const auto found = callables_.find(request.handle);
    if (found != callables_.end()) {
      released = std::move(found->second);
      callables_.erase(found);
    }
  }
  if (lasting_ == nullptr) {
    if (released != nullptr) {
      for (const Made& made : {released->plain, released->leased})
        if (made.callable.handle != request.handle)
          release_at_master(handle_, made.callable.handle);
    }
    return master_.release_callable(std::move(request), call, std::move(done));
  }
  if (released == nullptr) return done(Status());
  // With a life that has passed, all that was made in it has gone.
  lasting_->life(call, Done<Life>([self = shared_from_this(), released,
                                   done = std::move(done)](Result<Life> life) mutable {
                   if (!life.ok()) return done(std::move(life).status());
                   for (const Made& made : {released->plain, released->leased})
                     if (made.life == life->number)
                       self->release_at_master(life->handle, made.callable.handle);
                   done(Status());
                 }));
}

void OnceSession::release_at_master(const std::string& handle, int64_t callable) {
  if (callable == 0) return;
  master_.release_callable({handle, callable}, {}, Done<void>([](Status) {}));
}

// ---- Heartbeats --------------------------------------------------------------------------------

void OnceSession::set_heartbeat() {
  if (is_over_ || is_beating_ || dequeue_ == nullptr) return;
  is_beating_ = true;
  // The callback takes no lock, so that a timer can be replaced under it.
  timer_ = host_.timers.at(host_.clock.now() + lease_ / 3,
                           [weak = weak_from_this(), &pool = host_.pool] {
                             pool.post([weak] {
                               if (const auto self = weak.lock()) self->beat();
                             });
                           });
}

void OnceSession::beat() {
  RunStepRequest request;
  InFlight::Token token;
  uint64_t life = 0;
  {
    MutexLock lock(mutex_);
    is_beating_ = false;
    const auto held = book_.held();
    if (is_over_ || !held || held->life == lost_life_ || dequeue_ == nullptr) return;
    is_beating_ = true;
    life = held->life;
    token = heartbeats_.enter();
    request.feeds.push_back({std::string(OnceGraph::kLease), Tensor::scalar(held->lease)});
    request.fetches.push_back(str_cat("_once/extend/", *dequeue_, ":0"));
  }
  run_own(std::move(request), {.deadline = host_.clock.now() + lease_},
          Done<RunStepReply>([self = shared_from_this(), life, token = std::move(token)](
                                 const Result<RunStepReply>& reply) { self->heard(life, reply); }));
}

// A heartbeat that failed says nothing of the lease: the next one may be in time.
void OnceSession::heard(uint64_t life, const Result<RunStepReply>& reply) {
  MutexLock lock(mutex_);
  is_beating_ = false;
  const auto held = book_.held();
  if (!held) return;
  if (held->life == life && reply.ok() && !reply->tensors[0].item<bool>()) {
    // Or it was acknowledged by a take that is still waiting for the next one.
    lost_life_ = life;
    if (book_.has_lease()) {
      host_.log.warning(
          "the lease of what a session works on is over, because no heartbeat came through in "
          "time; somebody else may work on the same, and what both do is done once");
    }
    return;
  }
  set_heartbeat();
}

void OnceSession::end() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    timer_.cancel();
    callables_.clear();
  }
  if (lasting_ != nullptr) lasting_->end();
}

}  // namespace millrace
