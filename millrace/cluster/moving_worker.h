// MovingWorker: the worker of a task whose address may not be known yet, and may change.
//
// Each call goes to where the task is at that moment. While that is not known, a call that waits
// for a task that is down waits for the address as well, and so does RecvTensor, because the master
// may have learnt earlier than this task where everybody is; the call's cancellation and deadline
// hold, and its error says what it waited for. All other calls fail at once, with the reason.
//
// When the address changes the connection to the old one is let go and the calls that are under way
// there end with UNAVAILABLE: who is elsewhere has another life. Only a question that waits for the
// task (get_status) is asked again at the new place. Calls of a session that had begun there will
// find that the new one does not know it.
//
// MemberWorkers makes them. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/services.h"

namespace millrace {

class MovingWorker final : public WorkerService, public std::enable_shared_from_this<MovingWorker> {
 public:
  // `directory` is used until close(); what `host` refers to outlives this.
  MovingWorker(TaskName task, std::shared_ptr<const Members> members, WorkerDirectory& directory,
               const Host& host);

  // To be called when something has changed: the task may be elsewhere, found, or gone.
  void look_again();
  // Ends the calls that wait with `why`, and all that are still to come.
  void close(const Status& why);
  // "2 calls wait for it, RecvTensor for 3 s: the address of /job:a/… is not known yet"; empty if
  // none does, questions whether it is there left out.
  std::string describe_waits() const;

  void get_status(WhenDown, Call, Done<GetStatusReply>) override;
  void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) override;
  void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) override;
  void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) override;
  void deregister_graph(DeregisterGraphRequest, Call, Done<void>) override;
  void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) override;
  void cleanup_graph(CleanupGraphRequest, Call, Done<void>) override;
  void cleanup_all(CleanupAllRequest, Call, Done<void>) override;
  void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) override;
  void farewell(EndedTask, Call, Done<void>) override;

 private:
  // One address of the task, from when it was found there until it is elsewhere.
  struct Place {
    std::string address;
    std::shared_ptr<WorkerService> worker;
    Cancellation left;
  };
  using PlacePtr = std::shared_ptr<Place>;
  using GoOn = absl::AnyInvocable<void(Result<PlacePtr>)>;
  // A call that waits for the address.
  struct Waiting {
    std::string_view method;
    Clock::Time since;
    GoOn go_on;
    Cancellation::Registration given_up = {};
    Timers::Timer late = {};
  };
  struct Cut;

  // Where the task is now. `left` gets where it was, if it is there no more.
  // Errors: those of Members and of the directory; the reason of close().
  Result<PlacePtr> find(PlacePtr* left) MR_REQUIRES(mutex_);
  // True if there is nothing to do but to wait for an address.
  bool is_unknown(const Result<PlacePtr>& place) const;
  void leave(const PlacePtr& left);

  // Finds the place, waiting for it if need be, and goes on.
  void locate(std::string_view method, WhenDown when_unknown, const Call& call, GoOn go_on);
  void wait(std::string_view method, const Call& call, GoOn go_on);
  void give_up(uint64_t id, const Status& why);
  static void answer(Waiting waiting, Result<PlacePtr> place);

  template <class Reply, class Ask>
  void ask(const PlacePtr& place, Call call, Done<Reply> done, Ask ask);
  template <class Request, class Reply>
  void forward(std::string_view method, WhenDown when_unknown,
               void (WorkerService::*asked)(Request, Call, Done<Reply>), Request request,
               const Call& call, Done<Reply> done);

  const TaskName task_;
  const std::shared_ptr<const Members> members_;
  const Host host_;
  std::atomic<uint64_t> last_id_{0};

  mutable Mutex mutex_;
  WorkerDirectory* directory_ MR_GUARDED_BY(mutex_);
  Status closed_ MR_GUARDED_BY(mutex_);  // OK while it is open
  PlacePtr place_ MR_GUARDED_BY(mutex_);
  uint64_t seen_ MR_GUARDED_BY(mutex_) = 0;                    // the generation that place_ is of
  std::map<uint64_t, Waiting> waiting_ MR_GUARDED_BY(mutex_);  // in order of coming
};

}  // namespace millrace
