// RetriedMaster: a master, for one session of a client's, whose calls are made again while
// connections break: that to the master, or those between tasks that live on.
//
// In the client's process, in front of the master. Each step that updates state gets a name
// (retry_book.h), which it keeps however often it is made; owners of state make its updates once
// for that name (docs/design/once.md). Steps that change what can't be made once (retry_graph.h),
// and partial runs, are passed on as they are, and fail by a broken connection as ever. Creating
// and extending the session, making callables and closing may be made twice anyhow.
//
// A step ends when it is answered, when its terms are used up, with its deadline or cancellation,
// or when the session is closed. Any thread may call.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/session/retried_call.h"
#include "millrace/session/retry_book.h"
#include "millrace/session/retry_graph.h"
#include "millrace/session/retry_terms.h"

namespace millrace {

class RetriedMaster final : public MasterService {
 public:
  // `ops` and `host` outlive this, as this does its calls; `master` keeps alive what it needs.
  RetriedMaster(std::shared_ptr<MasterService> master, const OpRegistry& ops, const Host& host,
                RetryTerms terms);

  // Errors: those of the master; of one that does not know the node by which steps are named, with
  // a word of that.
  void create_session(CreateSessionRequest, Call, Done<CreateSessionReply>) override;
  void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) override;
  void run_step(RunStepRequest request, Call call, Done<RunStepReply> done) override {
    run_step_within(terms_, std::move(request), call, std::move(done));
  }
  // A step with terms of its own.
  void run_step_within(RetryTerms terms, RunStepRequest, const Call&, Done<RunStepReply>);
  void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) override;
  void close_session(CloseSessionRequest, Call, Done<void>) override;
  void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) override;
  void reset(ResetRequest, Call, Done<void>) override;
  void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) override;
  void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) override;
  void release_callable(ReleaseCallableRequest, Call, Done<void>) override;
  void describe(Call, Done<TaskDescription>) override;

 private:
  using Again = RetryGraph::Again;
  using StepKind = RetryGraph::StepKind;

  RetriedCallTerms retried(RetryTerms terms) { return {host_, terms.times, &closing_}; }
  StepKind kind_of(const StepRequestNames& names);
  Tensor name(uint64_t step);
  // `run` is given the step's name each time it is made, or nothing to add.
  template <class Reply, class Run>
  void run_named(RetryTerms terms, const StepKind& kind, const Call& call, Done<Reply> done,
                 Run run);

  const std::shared_ptr<MasterService> master_;
  const Host& host_;
  const RetryTerms terms_;
  Cancellation closing_;  // of what would be made again
  Mutex mutex_;
  RetryGraph graph_ MR_GUARDED_BY(mutex_);
  RetryBook book_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, StepKind> callables_ MR_GUARDED_BY(mutex_);
  // Kinds of steps that were asked for; dropped when the graph grows, or when they are too many.
  absl::flat_hash_map<StepRequestNames, StepKind> kinds_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
