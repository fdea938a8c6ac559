// A master and a worker that do nothing but write down what they are asked, for tests of
// transports.
//
// Each call goes to a std::function that the test may set, also while calls come in; without one it
// is answered with a default reply. Calls that a test leaves unanswered it keeps itself.
#pragma once

#include <functional>
#include <utility>

#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"

namespace millrace::testing {

template <class Request, class Reply>
using Answer = std::function<void(Request, Call, Done<Reply>)>;

template <class Function>
class Settable {
 public:
  void operator=(Function function) {
    MutexLock lock(mutex_);
    function_ = std::move(function);
  }
  Function get() const {
    MutexLock lock(mutex_);
    return function_;
  }

 private:
  mutable Mutex mutex_;
  Function function_ MR_GUARDED_BY(mutex_);
};

template <class Request, class Reply>
void answer_with(const Settable<Answer<Request, Reply>>& answer, Request request, const Call& call,
                 Done<Reply> done) {
  if (const auto set = answer.get()) return set(std::move(request), call, std::move(done));
  if constexpr (std::is_void_v<Reply>) {
    done(Status());
  } else {
    done(Reply());
  }
}

class FakeMaster final : public MasterService {
 public:
  Settable<Answer<CreateSessionRequest, CreateSessionReply>> on_create_session;
  Settable<Answer<ExtendSessionRequest, ExtendSessionReply>> on_extend_session;
  Settable<Answer<RunStepRequest, RunStepReply>> on_run_step;
  Settable<Answer<PartialRunSetupRequest, PartialRunSetupReply>> on_partial_run_setup;
  Settable<Answer<CloseSessionRequest, void>> on_close_session;
  Settable<Answer<ListDevicesRequest, ListDevicesReply>> on_list_devices;
  Settable<Answer<ResetRequest, void>> on_reset;
  Settable<Answer<MakeCallableRequest, MakeCallableReply>> on_make_callable;
  Settable<Answer<RunCallableRequest, RunCallableReply>> on_run_callable;
  Settable<Answer<ReleaseCallableRequest, void>> on_release_callable;
  Settable<std::function<void(Call, Done<TaskDescription>)>> on_describe;

  void create_session(CreateSessionRequest request, Call call,
                      Done<CreateSessionReply> done) override {
    answer_with(on_create_session, std::move(request), call, std::move(done));
  }
  void extend_session(ExtendSessionRequest request, Call call,
                      Done<ExtendSessionReply> done) override {
    answer_with(on_extend_session, std::move(request), call, std::move(done));
  }
  void run_step(RunStepRequest request, Call call, Done<RunStepReply> done) override {
    answer_with(on_run_step, std::move(request), call, std::move(done));
  }
  void partial_run_setup(PartialRunSetupRequest request, Call call,
                         Done<PartialRunSetupReply> done) override {
    answer_with(on_partial_run_setup, std::move(request), call, std::move(done));
  }
  void close_session(CloseSessionRequest request, Call call, Done<void> done) override {
    answer_with(on_close_session, std::move(request), call, std::move(done));
  }
  void list_devices(ListDevicesRequest request, Call call, Done<ListDevicesReply> done) override {
    answer_with(on_list_devices, std::move(request), call, std::move(done));
  }
  void reset(ResetRequest request, Call call, Done<void> done) override {
    answer_with(on_reset, std::move(request), call, std::move(done));
  }
  void make_callable(MakeCallableRequest request, Call call,
                     Done<MakeCallableReply> done) override {
    answer_with(on_make_callable, std::move(request), call, std::move(done));
  }
  void run_callable(RunCallableRequest request, Call call, Done<RunCallableReply> done) override {
    answer_with(on_run_callable, std::move(request), call, std::move(done));
  }
  void release_callable(ReleaseCallableRequest request, Call call, Done<void> done) override {
    answer_with(on_release_callable, std::move(request), call, std::move(done));
  }
  // Without on_describe like a task that is not Millrace's.
  void describe(Call call, Done<TaskDescription> done) override {
    if (const auto set = on_describe.get()) return set(call, std::move(done));
    MasterService::describe(call, std::move(done));
  }
};

class FakeWorker final : public WorkerService {
 public:
  Settable<std::function<void(Call, Done<GetStatusReply>)>> on_get_status;
  Settable<Answer<CreateWorkerSessionRequest, void>> on_create_worker_session;
  Settable<Answer<DeleteWorkerSessionRequest, void>> on_delete_worker_session;
  Settable<Answer<RegisterGraphRequest, RegisterGraphReply>> on_register_graph;
  Settable<Answer<DeregisterGraphRequest, void>> on_deregister_graph;
  Settable<Answer<RunGraphRequest, RunGraphReply>> on_run_graph;
  Settable<Answer<CleanupGraphRequest, void>> on_cleanup_graph;
  Settable<Answer<CleanupAllRequest, void>> on_cleanup_all;
  Settable<Answer<RecvTensorRequest, RecvTensorReply>> on_recv_tensor;
  Settable<Answer<EndedTask, void>> on_farewell;

  void get_status(WhenDown, Call call, Done<GetStatusReply> done) override {
    if (const auto set = on_get_status.get()) return set(call, std::move(done));
    done(GetStatusReply());
  }
  void farewell(EndedTask ended, Call call, Done<void> done) override {
    answer_with(on_farewell, std::move(ended), call, std::move(done));
  }
  void create_worker_session(CreateWorkerSessionRequest request, Call call,
                             Done<void> done) override {
    answer_with(on_create_worker_session, std::move(request), call, std::move(done));
  }
  void delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                             Done<void> done) override {
    answer_with(on_delete_worker_session, std::move(request), call, std::move(done));
  }
  void register_graph(RegisterGraphRequest request, Call call,
                      Done<RegisterGraphReply> done) override {
    answer_with(on_register_graph, std::move(request), call, std::move(done));
  }
  void deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) override {
    answer_with(on_deregister_graph, std::move(request), call, std::move(done));
  }
  void run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) override {
    answer_with(on_run_graph, std::move(request), call, std::move(done));
  }
  void cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) override {
    answer_with(on_cleanup_graph, request, call, std::move(done));
  }
  void cleanup_all(CleanupAllRequest request, Call call, Done<void> done) override {
    answer_with(on_cleanup_all, std::move(request), call, std::move(done));
  }
  void recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) override {
    answer_with(on_recv_tensor, std::move(request), call, std::move(done));
  }
};

}  // namespace millrace::testing
