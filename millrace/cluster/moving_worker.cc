#include "millrace/cluster/moving_worker.h"

#include <chrono>
#include <utility>

namespace millrace {
namespace {

constexpr std::string_view kQuestion = "GetStatus";

const Status& status_of(const Status& outcome) { return outcome; }
template <class T>
Status status_of(const Result<T>& outcome) {
  return outcome.status();
}

// The end of a call that has waited for an address.
Status late(const Status& unknown) {
  const Status status(Code::deadline_exceeded, "the deadline of the call passed");
  return unknown.ok() ? status : status.then(str_cat("; ", unknown.message()));
}

}  // namespace

// What a call to one place refers to until it is answered.
struct MovingWorker::Cut {
  explicit Cut(PlacePtr at) : place(std::move(at)) {}
  const PlacePtr place;
  Cancellation cancellation;
  Cancellation::Registration from_caller, from_place;
};

MovingWorker::MovingWorker(TaskName task, std::shared_ptr<const Members> members,
                           WorkerDirectory& directory, const Host& host)
    : task_(std::move(task)), members_(std::move(members)), host_(host), directory_(&directory) {}

// ---- Where it is --------------------------------------------------------------------------------

Result<MovingWorker::PlacePtr> MovingWorker::find(PlacePtr* left) {
  MR_TRY(closed_);
  // Before the address: what changes in between is looked at with the next call.
  const uint64_t generation = members_->generation();
  if (place_ != nullptr && generation == seen_) return place_;
  const Result<std::string> address = members_->address(task_);
  if (place_ == nullptr || !address.ok() || *address != place_->address) {
    *left = std::exchange(place_, nullptr);
    if (*left != nullptr) directory_->let_go((*left)->address);
    MR_TRY(address.status());
    MR_ASSIGN(auto worker, directory_->worker(task_, *address));
    place_ = std::make_shared<Place>();
    place_->address = *address;
    place_->worker = std::move(worker);
  }
  seen_ = generation;
  return place_;
}

bool MovingWorker::is_unknown(const Result<PlacePtr>& place) const {
  return place.status().code() == Code::unavailable && !members_->has_ended(task_);
}

void MovingWorker::leave(const PlacePtr& left) {
  if (left == nullptr) return;
  const Result<std::string> address = members_->address(task_);
  left->left.cancel(
      unavailable(task_.to_string(), " is no longer at ", left->address, ": ",
                  address.ok() ? str_cat("it is at ", *address) : address.status().message()));
}

void MovingWorker::look_again() {
  PlacePtr left;
  Result<PlacePtr> place = PlacePtr();
  std::map<uint64_t, Waiting> ready;
  {
    MutexLock lock(mutex_);
    // Who has not been asked for is looked for when that happens.
    if (place_ == nullptr && waiting_.empty()) return;
    place = find(&left);
    if (!is_unknown(place)) ready.swap(waiting_);
  }
  leave(left);
  for (auto& [id, waiting] : ready) answer(std::move(waiting), place);
}

void MovingWorker::close(const Status& why) {
  std::map<uint64_t, Waiting> waiting;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = why;
    directory_ = nullptr;
    waiting.swap(waiting_);
  }
  for (auto& [id, one] : waiting) answer(std::move(one), why);
}

// ---- Waiting for an address ---------------------------------------------------------------------

void MovingWorker::locate(std::string_view method, WhenDown when_unknown, const Call& call,
                          GoOn go_on) {
  PlacePtr left;
  Result<PlacePtr> place = PlacePtr();
  {
    MutexLock lock(mutex_);
    place = find(&left);
    if (closed_.ok() && when_unknown == WhenDown::wait && is_unknown(place)) place = PlacePtr();
  }
  leave(left);
  if (place.ok() && *place == nullptr) return wait(method, call, std::move(go_on));
  go_on(std::move(place));
}

void MovingWorker::wait(std::string_view method, const Call& call, GoOn go_on) {
  const uint64_t id = ++last_id_;
  Waiting waiting{.method = method, .since = host_.clock.now(), .go_on = std::move(go_on)};
  // Before others see it, who may answer it at once: what the call refers to goes then.
  if (call.cancellation != nullptr) {
    waiting.given_up =
        call.cancellation->on_cancel([weak = weak_from_this(), id](const Status& why) {
          if (auto self = weak.lock()) self->give_up(id, why);
        });
  }
  if (call.deadline) {
    waiting.late = host_.timers.at(*call.deadline, [weak = weak_from_this(), id] {
      auto self = weak.lock();
      if (!self) return;
      self->host_.endings.post([self, id] { self->give_up(id, late({})); });
    });
  }
  PlacePtr left;
  Result<PlacePtr> place = PlacePtr();
  bool is_listed = false;
  {
    MutexLock lock(mutex_);
    place = find(&left);
    // Who told before it was in the list was not heard.
    const bool is_given_up = call.cancellation != nullptr && call.cancellation->cancelled();
    const bool is_late = call.deadline && *call.deadline <= host_.clock.now();
    is_listed = closed_.ok() && is_unknown(place) && !is_given_up && !is_late;
    if (is_listed) {
      waiting_.emplace(id, std::move(waiting));
    } else if (is_given_up) {
      place = call.cancellation->reason();
    } else if (is_late && !place.ok()) {
      place = late(place.status());
    }
  }
  leave(left);
  // NOLINTNEXTLINE(bugprone-use-after-move): moved only into the list
  if (!is_listed) answer(std::move(waiting), std::move(place));
}

void MovingWorker::give_up(uint64_t id, const Status& why) {
  Waiting waiting;
  {
    MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    waiting = std::move(found->second);
    waiting_.erase(found);
  }
  const Status unknown = members_->address(task_).status();
  answer(std::move(waiting), unknown.ok() ? why : why.then(str_cat("; ", unknown.message())));
}

void MovingWorker::answer(Waiting waiting, Result<PlacePtr> place) {
  // What they belong to may go with the answer.
  waiting.given_up.release();
  waiting.late.cancel();
  waiting.go_on(std::move(place));
}

std::string MovingWorker::describe_waits() const {
  size_t count = 0;
  const Waiting* oldest = nullptr;
  MutexLock lock(mutex_);
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.method == kQuestion) continue;
    if (oldest == nullptr) oldest = &waiting;
    ++count;
  }
  if (oldest == nullptr) return {};
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(host_.clock.now() - oldest->since);
  return str_cat(count, count == 1 ? " call waits" : " calls wait", " for ", task_.to_string(),
                 ", ", oldest->method, " for ", age.count(),
                 " s: ", members_->address(task_).status().message());
}

// ---- Calls --------------------------------------------------------------------------------------

template <class Reply, class Ask>
void MovingWorker::ask(const PlacePtr& place, Call call, Done<Reply> done, Ask ask) {
  auto cut = std::make_shared<Cut>(place);
  Cancellation* const caller = call.cancellation;
  if (caller != nullptr) {
    cut->from_caller = caller->on_cancel([weak = std::weak_ptr(cut)](const Status& why) {
      if (auto held = weak.lock()) held->cancellation.cancel(why);
    });
  }
  // Not inside the call of whoever finds out that the task has moved.
  cut->from_place = place->left.on_cancel(
      [weak = std::weak_ptr(cut), &endings = host_.endings](const Status& why) {
        endings.post([weak, why] {
          if (auto held = weak.lock()) held->cancellation.cancel(why);
        });
      });
  call.cancellation = &cut->cancellation;
  ask(*place->worker, call,
      Done<Reply>([cut, caller, done = std::move(done)](Outcome<Reply> outcome) mutable {
        cut->from_caller.release();
        cut->from_place.release();
        const bool is_cut = cut->place->left.cancelled();
        if (is_cut && !status_of(outcome).ok() && (caller == nullptr || !caller->cancelled()))
          outcome = cut->place->left.reason();
        done(std::move(outcome));
      }));
}

template <class Request, class Reply>
void MovingWorker::forward(std::string_view method, WhenDown when_unknown,
                           void (WorkerService::*asked)(Request, Call, Done<Reply>),
                           Request request, const Call& call, Done<Reply> done) {
  locate(method, when_unknown, call,
         [self = shared_from_this(), asked, request = std::move(request), call,
          done = std::move(done)](Result<PlacePtr> place) mutable {
           if (!place.ok()) return done(place.status());
           self->ask(*place, call, std::move(done),
                     [asked, request = std::move(request)](WorkerService& worker, const Call& cut,
                                                           Done<Reply> answered) mutable {
                       (worker.*asked)(std::move(request), cut, std::move(answered));
                     });
         });
}

void MovingWorker::get_status(WhenDown when_down, Call call, Done<GetStatusReply> done) {
  locate(
      kQuestion, when_down, call,
      [self = shared_from_this(), when_down, call,
       done = std::move(done)](Result<PlacePtr> place) mutable {
        if (!place.ok()) return done(place.status());
        auto again = [self, when_down, call, place = *place,
                      done = std::move(done)](Result<GetStatusReply> reply) mutable {
          const bool is_given_up = call.cancellation != nullptr && call.cancellation->cancelled();
          if (reply.ok() || is_given_up || when_down == WhenDown::fail || !place->left.cancelled())
            return done(std::move(reply));
          self->get_status(when_down, call, std::move(done));
        };
        self->ask(
            *place, call, Done<GetStatusReply>(std::move(again)),
            [when_down](WorkerService& worker, const Call& cut, Done<GetStatusReply> answered) {
              worker.get_status(when_down, cut, std::move(answered));
            });
      });
}

void MovingWorker::create_worker_session(CreateWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  forward("CreateWorkerSession", WhenDown::fail, &WorkerService::create_worker_session,
          std::move(request), call, std::move(done));
}

void MovingWorker::delete_worker_session(DeleteWorkerSessionRequest request, Call call,
                                         Done<void> done) {
  forward("DeleteWorkerSession", WhenDown::fail, &WorkerService::delete_worker_session,
          std::move(request), call, std::move(done));
}

void MovingWorker::register_graph(RegisterGraphRequest request, Call call,
                                  Done<RegisterGraphReply> done) {
  // A part in hand would stay where the task has been; by its handle it is asked for where it is.
  forward(
      "RegisterGraph", WhenDown::fail, &WorkerService::register_graph, std::move(request), call,
      Done<RegisterGraphReply>([done = std::move(done)](Result<RegisterGraphReply> reply) mutable {
        if (reply.ok()) reply->part = nullptr;
        done(std::move(reply));
      }));
}

void MovingWorker::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  forward("DeregisterGraph", WhenDown::fail, &WorkerService::deregister_graph, std::move(request),
          call, std::move(done));
}

void MovingWorker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  forward("RunGraph", WhenDown::fail, &WorkerService::run_graph, std::move(request), call,
          std::move(done));
}

void MovingWorker::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  forward("CleanupGraph", WhenDown::wait, &WorkerService::cleanup_graph, request, call,
          std::move(done));
}

void MovingWorker::cleanup_all(CleanupAllRequest request, Call call, Done<void> done) {
  forward("CleanupAll", WhenDown::wait, &WorkerService::cleanup_all, std::move(request), call,
          std::move(done));
}

void MovingWorker::recv_tensor(RecvTensorRequest request, Call call, Done<RecvTensorReply> done) {
  forward("RecvTensor", WhenDown::wait, &WorkerService::recv_tensor, std::move(request), call,
          std::move(done));
}

void MovingWorker::farewell(EndedTask ended, Call call, Done<void> done) {
  forward("Farewell", WhenDown::fail, &WorkerService::farewell, std::move(ended), call,
          std::move(done));
}

}  // namespace millrace
