#include "millrace/session/retried_master.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int kMostClosings = 5;           // which is a second and a half
constexpr size_t kMostRetryKinds = 2'000;  // as many as a master keeps steps

// An extension that arrived, and whose answer was lost, has made the version the next one; nobody
// else extends the session.
bool was_extended(const Status& status, int64_t asked_version) {
  return status.code() == Code::aborted &&
         status.message().find(str_cat("Current version is ", asked_version + 1, " ")) !=
             std::string::npos;
}

// Others refuse the names of the session's own nodes, or their ops.
Status with_retry_words(const Status& status) {
  if (status.message().find("_retry/") == std::string::npos &&
      status.message().find("StepLease") == std::string::npos) {
    return status;
  }
  return status.then(
      "; a session that makes steps again after broken connections needs tasks of Millrace's: "
      "leave out its retries (MILLRACE_RETRIES) to work with others");
}

}  // namespace

RetriedMaster::RetriedMaster(std::shared_ptr<MasterService> master, const OpRegistry& ops,
                             const Host& host, RetryTerms terms)
    : master_(std::move(master)),
      host_(host),
      terms_(terms),
      graph_(ops),
      book_(host.random.next()) {}

void RetriedMaster::create_session(CreateSessionRequest request, Call call,
                                   Done<CreateSessionReply> done) {
  wire::GraphDef own;
  {
    MutexLock lock(mutex_);
    graph_.extend(request.graph);
    kinds_.clear();
    own = graph_.own_nodes();
  }
  for (wire::NodeDef& node : own.nodes) request.graph.nodes.push_back(std::move(node));
  make_retried<CreateSessionReply>(
      retried(terms_), call,
      Done<CreateSessionReply>([done = std::move(done)](Result<CreateSessionReply> reply) mutable {
        if (!reply.ok()) return done(with_retry_words(reply.status()));
        done(std::move(reply));
      }),
      [this, request = std::move(request)](const Call& call, Done<CreateSessionReply> done) {
        master_->create_session(request, call, std::move(done));
      });
}

void RetriedMaster::extend_session(ExtendSessionRequest request, Call call,
                                   Done<ExtendSessionReply> done) {
  {
    MutexLock lock(mutex_);
    graph_.extend(request.graph);
    kinds_.clear();
  }
  make_retried<ExtendSessionReply>(
      retried(terms_), call, std::move(done),
      [this, request = std::move(request), is_again = false](
          const Call& call, Done<ExtendSessionReply> done) mutable {
        const int64_t version = request.current_graph_version;
        if (std::exchange(is_again, true)) {
          done = Done<ExtendSessionReply>(
              [version, done = std::move(done)](Result<ExtendSessionReply> reply) mutable {
                if (!was_extended(reply.status(), version)) return done(std::move(reply));
                done(ExtendSessionReply{version + 1});
              });
        }
        master_->extend_session(request, call, std::move(done));
      });
}

RetriedMaster::StepKind RetriedMaster::kind_of(const StepRequestNames& names) {
  MutexLock lock(mutex_);
  const auto known = kinds_.find(names);
  if (known != kinds_.end()) return known->second;
  if (kinds_.size() >= kMostRetryKinds) kinds_.clear();
  return kinds_[names] = graph_.kind_of(names);
}

Tensor RetriedMaster::name(uint64_t step) {
  MutexLock lock(mutex_);
  return Tensor::scalar(book_.name(step));
}

template <class Reply, class Run>
void RetriedMaster::run_named(RetryTerms terms, const StepKind& kind, const Call& call,
                              Done<Reply> done, Run run) {
  if (kind.again == Again::never) {
    return run(
        std::nullopt, call,
        Done<Reply>([why = kind.why_never, done = std::move(done)](Result<Reply> reply) mutable {
          if (reply.status().code() != Code::unavailable) return done(std::move(reply));
          done(reply.status().then(str_cat("; it was not made again, because ", why)));
        }));
  }
  if (kind.again == Again::as_it_is) {
    return make_retried<Reply>(retried(terms), call, std::move(done),
                               [run = std::move(run)](const Call& call, Done<Reply> done) mutable {
                                 run(std::nullopt, call, std::move(done));
                               });
  }
  uint64_t step = 0;
  {
    MutexLock lock(mutex_);
    step = book_.begin();
  }
  make_retried<Reply>(
      retried(terms), call,
      Done<Reply>([this, step, done = std::move(done)](Result<Reply> reply) mutable {
        {
          MutexLock lock(mutex_);
          book_.end(step);
        }
        done(std::move(reply));
      }),
      [this, step, run = std::move(run)](const Call& call, Done<Reply> done) mutable {
        run(name(step), call, std::move(done));
      });
}

void RetriedMaster::run_step_within(RetryTerms terms, RunStepRequest request, const Call& call,
                                    Done<RunStepReply> done) {
  if (!request.partial_run_handle.empty())
    return master_->run_step(std::move(request), call, std::move(done));
  const StepKind kind = kind_of(names_of(request));
  if (kind.again == Again::under_name) request.targets.emplace_back(RetryGraph::kStepNode);
  run_named<RunStepReply>(
      terms, kind, call, std::move(done),
      [this, request = std::move(request)](std::optional<Tensor> name, const Call& call,
                                           Done<RunStepReply> done) {
        RunStepRequest made = request;
        if (name) made.feeds.push_back({std::string(RetryGraph::kName), *std::move(name)});
        master_->run_step(std::move(made), call, std::move(done));
      });
}

void RetriedMaster::make_callable(MakeCallableRequest request, Call call,
                                  Done<MakeCallableReply> done) {
  const StepKind kind =
      kind_of({request.feeds, request.fetches, request.targets, request.connections});
  if (kind.again == Again::under_name) {
    request.feeds.emplace_back(RetryGraph::kName);
    request.targets.emplace_back(RetryGraph::kStepNode);
  }
  make_retried<MakeCallableReply>(
      retried(terms_), call,
      Done<MakeCallableReply>(
          [this, kind, done = std::move(done)](Result<MakeCallableReply> reply) mutable {
            if (!reply.ok()) return done(std::move(reply));
            {
              MutexLock lock(mutex_);
              callables_[reply->handle] = kind;
            }
            // What the master gave for this process would go past the names.
            done(MakeCallableReply{reply->handle, nullptr});
          }),
      [this, request = std::move(request)](const Call& call, Done<MakeCallableReply> done) {
        master_->make_callable(request, call, std::move(done));
      });
}

void RetriedMaster::run_callable(RunCallableRequest request, Call call,
                                 Done<RunCallableReply> done) {
  StepKind kind;  // one that is not known is the master's to refuse
  {
    MutexLock lock(mutex_);
    const auto found = callables_.find(request.handle);
    if (found != callables_.end()) kind = found->second;
  }
  run_named<RunCallableReply>(
      terms_, kind, call, std::move(done),
      [this, request = std::move(request)](std::optional<Tensor> name, const Call& call,
                                           Done<RunCallableReply> done) {
        RunCallableRequest made = request;
        if (name) made.feeds.push_back(*std::move(name));
        master_->run_callable(std::move(made), call, std::move(done));
      });
}

// If it does not arrive, the callable goes with the session.
void RetriedMaster::release_callable(ReleaseCallableRequest request, Call call, Done<void> done) {
  {
    MutexLock lock(mutex_);
    callables_.erase(request.handle);
  }
  master_->release_callable(std::move(request), call, std::move(done));
}

void RetriedMaster::partial_run_setup(PartialRunSetupRequest request, Call call,
                                      Done<PartialRunSetupReply> done) {
  master_->partial_run_setup(std::move(request), call, std::move(done));
}

// Closed already, by what was not answered, is closed. Nobody waits for long for a session to end
// that its master may have lost.
void RetriedMaster::close_session(CloseSessionRequest request, Call call, Done<void> done) {
  closing_.cancel(cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  make_retried<void>({host_, std::min(terms_.times, kMostClosings)}, call, std::move(done),
                     [this, request = std::move(request), is_again = false](
                         const Call& call, Done<void> done) mutable {
                       if (std::exchange(is_again, true)) {
                         done = Done<void>([done = std::move(done)](Status status) mutable {
                           done(status.code() == Code::aborted ? Status() : std::move(status));
                         });
                       }
                       master_->close_session(request, call, std::move(done));
                     });
}

void RetriedMaster::list_devices(ListDevicesRequest request, Call call,
                                 Done<ListDevicesReply> done) {
  make_retried<ListDevicesReply>(
      retried(terms_), call, std::move(done),
      [this, request = std::move(request)](const Call& call, Done<ListDevicesReply> done) {
        master_->list_devices(request, call, std::move(done));
      });
}

void RetriedMaster::reset(ResetRequest request, Call call, Done<void> done) {
  master_->reset(std::move(request), call, std::move(done));
}

void RetriedMaster::describe(Call call, Done<TaskDescription> done) {
  master_->describe(call, std::move(done));
}

}  // namespace millrace
