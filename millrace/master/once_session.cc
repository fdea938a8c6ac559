#include "millrace/master/once_session.h"

#include <utility>

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

void OnceSession::set_handle(std::string handle) {
  MutexLock lock(mutex_);
  handle_ = std::move(handle);
}

OnceGraph::StepKind OnceSession::kind_of(const StepRequestNames& names) {
  MutexLock lock(mutex_);
  const auto known = kinds_.find(names);
  if (known != kinds_.end()) return known->second;
  if (kinds_.size() >= kMostKinds) kinds_.clear();
  return kinds_[names] = graph_.kind_of(names);
}

Result<OnceSession::Begun> OnceSession::begin(const OnceGraph::StepKind& kind, uint64_t signature) {
  MutexLock lock(mutex_);
  Begun begun;
  if (!kind.takes && !(kind.updates && book_.has_lease())) return begun;
  MR_ASSIGN(begun.step, book_.begin(kind.takes ? Kind::takes : Kind::updates, signature));
  begun.dequeue = kind.dequeue;
  return begun;
}

template <class Reply>
void OnceSession::finish(const Begun& begun, Result<Reply> reply, Done<Reply> done) {
  std::string after;
  if (reply.ok() && begun.step->kind == Kind::takes) {
    after = reply->tensors.back().template item<std::string>();
    reply->tensors.pop_back();
  }
  std::string taken_by;  // what is left to be acknowledged
  Result<std::string> left = std::string();
  {
    MutexLock lock(mutex_);
    const uint64_t before = book_.life();
    left = book_.end(*begun.step, reply.status(), after);
    if (book_.life() != before) {
      taken_by = std::exchange(dequeue_, begun.dequeue);
      set_heartbeat();
    }
  }
  if (!left.ok()) return done(std::move(left).status());
  if (left->empty()) return done(std::move(reply));
  acknowledge(*std::move(left), taken_by,
              Done<void>([reply = std::move(reply), done = std::move(done)](Status) mutable {
                done(std::move(reply));
              }));
}

// Answers in any case: what could not be acknowledged comes back, and is found done by whoever
// takes it then.
void OnceSession::acknowledge(std::string lease, const std::string& dequeue, Done<void> done) {
  if (dequeue.empty()) return done(Status());
  RunStepRequest request;
  request.session_handle = handle();
  request.feeds.push_back({std::string(OnceGraph::kLease), Tensor::scalar(std::move(lease))});
  request.targets.push_back(str_cat("_once/end/", dequeue));
  master_.run_step(std::move(request), {.deadline = host_.clock.now() + lease_},
                   Done<RunStepReply>([self = shared_from_this(),
                                       done = std::move(done)](Result<RunStepReply> reply) mutable {
                     if (!reply.ok()) {
                       self->host_.log.warning("an element could not be acknowledged, and comes ",
                                               "back: ", reply.status().to_string());
                     }
                     done(Status());
                   }));
}

void OnceSession::run_step(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  const OnceGraph::StepKind kind = kind_of(names_of(request));
  auto begun = begin(kind, hash_of(request));
  if (!begun.ok()) return done(std::move(begun).status());
  if (!begun->step) return master_.run_step(std::move(request), call, std::move(done));
  request.feeds.push_back(
      {std::string(OnceGraph::kLease), Tensor::scalar(std::move(begun->step->lease))});
  run_under_lease(request, begun->step->kind);
  master_.run_step(std::move(request), call,
                   Done<RunStepReply>([self = shared_from_this(), begun = *std::move(begun),
                                       done = std::move(done)](Result<RunStepReply> reply) mutable {
                     self->finish(begun, std::move(reply), std::move(done));
                   }));
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
  made->names = {request.feeds, request.fetches, request.targets};
  made->signature = hash_of(made->names);
  made->options = request.options;
  made->kind = kind_of(made->names);
  if (!made->kind.takes && !made->kind.updates)
    return master_.make_callable(std::move(request), call, std::move(done));
  if (made->kind.takes) {
    request.feeds.emplace_back(OnceGraph::kLease);
    run_under_lease(request, Kind::takes);
  }
  master_.make_callable(
      std::move(request), call,
      Done<MakeCallableReply>([self = shared_from_this(), made,
                               done = std::move(done)](Result<MakeCallableReply> reply) mutable {
        if (!reply.ok()) return done(std::move(reply).status());
        made->plain = *reply;
        if (made->kind.takes) made->leased = *reply;
        {
          MutexLock lock(self->mutex_);
          self->callables_.emplace(made->plain.handle, made);
          reply->callable = std::make_shared<KeptOnce>(self, self->handle_, made);
        }
        done(std::move(reply));
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
  if (callable == nullptr) return master_.run_callable(std::move(request), call, std::move(done));
  this->call(std::move(callable), std::move(request.feeds), call, std::move(done));
}

std::string OnceSession::handle() {
  MutexLock lock(mutex_);
  return handle_;
}

void OnceSession::call(std::shared_ptr<Callable> callable, std::vector<Tensor> feeds,
                       const Call& call, Done<RunCallableReply> done) {
  auto begun = begin(callable->kind, callable->signature);
  if (!begun.ok()) return done(std::move(begun).status());
  if (!begun->step) return call_at_master(callable->plain, std::move(feeds), call, std::move(done));
  MakeCallableReply known;
  MakeCallableRequest leased;
  {
    MutexLock lock(mutex_);
    known = callable->leased;
    if (known.handle == 0) leased.session_handle = handle_;
  }
  if (known.handle != 0) return call_leased(known, *begun, std::move(feeds), call, std::move(done));
  leased.feeds = callable->names.feeds;
  leased.fetches = callable->names.fetches;
  leased.targets = callable->names.targets;
  leased.options = callable->options;
  leased.feeds.emplace_back(OnceGraph::kLease);
  run_under_lease(leased, Kind::updates);
  // The callee of the second call may need what the first one had: the caller waits for both.
  master_.make_callable(
      std::move(leased), call,
      Done<MakeCallableReply>([self = shared_from_this(), callable = std::move(callable),
                               begun = *std::move(begun), feeds = std::move(feeds), call,
                               done = std::move(done)](Result<MakeCallableReply> made) mutable {
        if (!made.ok())
          return self->finish<RunCallableReply>(begun, made.status(), std::move(done));
        bool is_spare = false;  // somebody else has made one meanwhile, or it was released
        {
          MutexLock lock(self->mutex_);
          is_spare =
              callable->leased.handle != 0 || !self->callables_.contains(callable->plain.handle);
          if (!is_spare) callable->leased = *made;
        }
        Done<RunCallableReply> then = std::move(done);
        if (is_spare) {
          then = Done<RunCallableReply>([self, spare = made->handle, done = std::move(then)](
                                            Result<RunCallableReply> reply) mutable {
            self->master_.release_callable({self->handle(), spare}, {}, Done<void>([](Status) {}));
            done(std::move(reply));
          });
        }
        self->call_leased(*made, std::move(begun), std::move(feeds), call, std::move(then));
      }));
}

void OnceSession::call_leased(const MakeCallableReply& leased, Begun begun,
                              std::vector<Tensor> feeds, const Call& call,
                              Done<RunCallableReply> done) {
  feeds.push_back(Tensor::scalar(std::move(begun.step->lease)));
  call_at_master(leased, std::move(feeds), call,
                 Done<RunCallableReply>([self = shared_from_this(), begun, done = std::move(done)](
                                            Result<RunCallableReply> reply) mutable {
                   self->finish(begun, std::move(reply), std::move(done));
                 }));
}

// By pointer where the master behind gave one.
void OnceSession::call_at_master(const MakeCallableReply& made, std::vector<Tensor> feeds,
                                 const Call& call, Done<RunCallableReply> done) {
  if (made.callable != nullptr) return made.callable->run(std::move(feeds), call, std::move(done));
  master_.run_callable({handle(), made.handle, std::move(feeds)}, call, std::move(done));
}

int64_t OnceSession::release_callable(int64_t handle) {
  MutexLock lock(mutex_);
  const auto found = callables_.find(handle);
  if (found == callables_.end()) return 0;
  const int64_t leased = found->second->leased.handle;
  callables_.erase(found);
  return leased == handle ? 0 : leased;
}

// ---- Heartbeats --------------------------------------------------------------------------------

void OnceSession::set_heartbeat() {
  if (is_over_ || is_beating_ || dequeue_.empty()) return;
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
    if (is_over_ || !held || held->life == lost_life_ || dequeue_.empty()) return;
    is_beating_ = true;
    life = held->life;
    token = heartbeats_.enter();
    request.session_handle = handle_;
    request.feeds.push_back({std::string(OnceGraph::kLease), Tensor::scalar(held->lease)});
    request.fetches.push_back(str_cat("_once/extend/", dequeue_, ":0"));
  }
  master_.run_step(
      std::move(request), {.deadline = host_.clock.now() + lease_},
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
  MutexLock lock(mutex_);
  is_over_ = true;
  timer_.cancel();
  callables_.clear();
}

}  // namespace millrace
