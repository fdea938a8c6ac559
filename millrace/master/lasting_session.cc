#include "millrace/master/lasting_session.h"

#include <atomic>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/master/early_end.h"
#include "millrace/master/lasting_state.h"

namespace millrace {
namespace {

Status closed_meanwhile() { return cancelled("the session was closed"); }

constexpr std::chrono::milliseconds kPause{200};  // before a life is asked for again

std::vector<DeviceAttributes> all_of(ListDevicesReply devices) {
  std::vector<DeviceAttributes> all = std::move(devices.local);
  for (DeviceAttributes& device : devices.remote) all.push_back(std::move(device));
  return all;
}

void append(wire::GraphDef& graph, wire::GraphDef more) {
  for (wire::NodeDef& node : more.nodes) graph.nodes.push_back(std::move(node));
  // An extension brings the whole library.
  if (!more.functions.empty()) graph.functions = std::move(more.functions);
}

}  // namespace

// Who waits for the next life: answered once, by it or by their own end.
struct LastingSession::Waiter {
  const Status why;
  std::atomic<bool> is_answered{false};
  Done<void> done;
  Mutex mutex;
  EarlyEnd early_end MR_GUARDED_BY(mutex);

  Waiter(Status given_why, Done<void> given_done)
      : why(std::move(given_why)), done(std::move(given_done)) {}
  void answer(Status outcome) {
    if (is_answered.exchange(true)) return;
    EarlyEnd ended;
    {
      MutexLock lock(mutex);
      std::swap(ended, early_end);
    }
    ended = {};  // the client may drop its cancellation when it is answered
    done(std::move(outcome));
  }
};

LastingSession::LastingSession(MasterService& master, const OpRegistry& ops, const Host& host,
                               InFlight& under_way, Clock::Duration patience,
                               CreateSessionRequest asked)
    : master_(master),
      ops_(ops),
      host_(host),
      under_way_(under_way),
      patience_(patience),
      options_(std::move(asked.options)),
      target_(std::move(asked.target)),
      graph_(std::move(asked.graph)) {}

void LastingSession::begin(const CreateSessionReply& made, const Call& call, Done<bool> done) {
  {
    MutexLock lock(mutex_);
    life_ = {1, made.session_handle};
    version_ = made.graph_version;
  }
  master_.list_devices({made.session_handle}, call,
                       Done<ListDevicesReply>([self = shared_from_this(), done = std::move(done)](
                                                  Result<ListDevicesReply> devices) mutable {
                         if (!devices.ok()) return done(false);
                         std::vector<DeviceAttributes> all = all_of(*std::move(devices));
                         const bool can_last =
                             !self->options_.isolate_session_state && may_come_back(all);
                         {
                           MutexLock lock(self->mutex_);
                           self->devices_ = std::move(all);
                         }
                         done(can_last);
                       }));
}

std::shared_ptr<LastingSession::Waiter> LastingSession::wait(Status why, const Call& call,
                                                             Done<void> done) {
  auto waiter = std::make_shared<Waiter>(std::move(why), std::move(done));
  // Held meanwhile, so that who answers at once finds it, and nobody hears of the end after that.
  MutexLock lock(waiter->mutex);
  waiter->early_end = EarlyEnd(host_, call, "a task of the session to come back",
                               [weak = std::weak_ptr(waiter)](Status ended) {
                                 if (const auto self = weak.lock()) self->answer(std::move(ended));
                               });
  return waiter;
}

void LastingSession::life(const Call& call, Done<Life> done) {
  std::optional<Life> now;
  {
    MutexLock lock(mutex_);
    if (!is_between_) now = life_;
  }
  if (now) return done(*std::move(now));
  // Whatever comes of it, the life that there is then.
  auto then =
      wait({}, call,
           Done<void>([self = shared_from_this(), done = std::move(done)](Status ended) mutable {
             Life found;
             {
               MutexLock lock(self->mutex_);
               found = self->life_;
             }
             if (!ended.ok()) return done(std::move(ended));
             done(std::move(found));
           }));
  bool is_late = false;
  {
    MutexLock lock(mutex_);
    is_late = !is_between_;
    if (!is_late) waiting_.push_back(then);
  }
  if (is_late) then->answer({});
}

void LastingSession::failed(uint64_t life, Status why, Earlier earlier, const Call& call,
                            Done<void> done) {
  auto waiter = wait(why, call, std::move(done));
  std::optional<Status> known;
  {
    MutexLock lock(mutex_);
    if (life_.number > life) {
      known = Status();
    } else if (is_over_) {
      known = why;
    } else if (!lost_.ok()) {
      known = why.then(str_cat("; the session is lost: ", lost_.message()));
    } else {
      if (!is_between_) {
        host_.log.info("a step failed (", why.to_string(), "): waits for its tasks to be there");
        is_between_ = true;
        until_ = host_.clock.now() + patience_;
        closes_earlier_ = false;
      }
      closes_earlier_ |= earlier == Earlier::close;
      waiting_.push_back(waiter);
    }
  }
  if (known) return waiter->answer(*std::move(known));
  begin_renewal_if_due();
}

// Extensions under way would be in one life and not in the next.
void LastingSession::begin_renewal_if_due() {
  bool is_over = false;
  {
    MutexLock lock(mutex_);
    if (!is_between_ || is_renewing_ || extending_ > 0) return;
    is_renewing_ = true;
    is_over = is_over_;
  }
  // What counts it may be waited for no more.
  if (is_over) return settle(Found::nothing, closed_meanwhile());
  renew();
}

void LastingSession::renew() {
  CreateSessionRequest request{.graph = {}, .options = options_, .target = target_};
  Clock::Time until;
  {
    MutexLock lock(mutex_);
    request.graph = graph_;
    until = until_;
  }
  master_.create_session(
      std::move(request), {.cancellation = &ending_, .deadline = until},
      Done<CreateSessionReply>(
          [self = shared_from_this(), token = under_way_.enter()](Result<CreateSessionReply> made) {
            self->renewed(std::move(made));
          }));
}

void LastingSession::renewed(Result<CreateSessionReply> made) {
  if (!made.ok()) {
    if (!tries_again(made.status())) settle(Found::nothing, made.status());
    return;
  }
  CreateSessionReply reply = *std::move(made);
  const std::string handle = reply.session_handle;
  master_.list_devices(
      {handle}, {.deadline = host_.clock.now() + patience_},
      Done<ListDevicesReply>([self = shared_from_this(), reply = std::move(reply),
                              token = under_way_.enter()](Result<ListDevicesReply> devices) {
        self->compared(reply, std::move(devices));
      }));
}

bool LastingSession::tries_again(const Status& why_not) {
  if (why_not.code() != Code::unavailable && why_not.code() != Code::aborted) return false;
  MutexLock lock(mutex_);
  const Clock::Time next = host_.clock.now() + kPause;
  if (is_over_ || next >= until_) return false;
  is_pausing_ = true;
  // The callback takes no lock, so that a timer can be replaced under it.
  pause_ = host_.timers.at(next, [weak = weak_from_this(), &pool = host_.pool] {
    pool.post([weak] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      {
        MutexLock lock(self->mutex_);
        if (!std::exchange(self->is_pausing_, false)) return;
      }
      self->renew();
    });
  });
  return true;
}

void LastingSession::compared(const CreateSessionReply& made, Result<ListDevicesReply> devices) {
  if (!devices.ok()) {
    close_life(made.session_handle);
    return settle(Found::nothing, devices.status());
  }
  std::vector<DeviceAttributes> now = all_of(*std::move(devices));
  Status outcome;
  Found found = Found::nothing;
  std::vector<std::string> to_close;
  {
    MutexLock lock(mutex_);
    outcome = is_over_ ? closed_meanwhile() : is_all_there(graph_, ops_, devices_, now);
    if (!outcome.ok()) {
      lost_ = outcome;
      to_close.push_back(made.session_handle);
    } else {
      found = has_started_again(devices_, now) ? Found::lost : Found::whole;
      devices_ = std::move(now);
      earlier_.push_back(std::move(life_.handle));
      life_ = {life_.number + 1, made.session_handle};
      offset_ = version_ - made.graph_version;
      if (closes_earlier_) to_close.swap(earlier_);
      host_.log.info("the session goes on, in its life ", life_.number, ": ",
                     found == Found::lost ? "what was lost is there again" : "nothing was lost");
    }
  }
  for (std::string& handle : to_close) close_life(std::move(handle));
  settle(found, outcome);
}

void LastingSession::settle(Found found, const Status& why_not) {
  std::vector<std::shared_ptr<Waiter>> waiting;
  std::vector<Settled> settled;
  {
    MutexLock lock(mutex_);
    is_between_ = is_renewing_ = false;
    waiting.swap(waiting_);
    settled.swap(settled_);
  }
  for (Settled& next : settled) next();
  for (const auto& waiter : waiting) {
    const Status& why = waiter->why;
    if (found == Found::nothing && !why.ok()) {
      waiter->answer(why.then(str_cat("; the session could not go on: ", why_not.message())));
    } else if (found == Found::whole && why.code() != Code::unavailable) {
      // The step's own error, unless a connection broke.
      waiter->answer(why);
    } else {
      waiter->answer({});
    }
  }
}

void LastingSession::let_go_of_earlier() {
  std::vector<std::string> to_close;
  {
    MutexLock lock(mutex_);
    // Between two lives it is not known yet what the next one needs.
    if (!is_between_) to_close.swap(earlier_);
  }
  for (std::string& handle : to_close) close_life(std::move(handle));
}

void LastingSession::close_life(std::string handle) {
  master_.close_session({std::move(handle)}, {.deadline = host_.clock.now() + patience_},
                        Done<void>([token = under_way_.enter()](const Status&) {}));
}

void LastingSession::extend(ExtendSessionRequest request, Call call,
                            Done<ExtendSessionReply> done) {
  std::optional<ExtendSessionRequest> now;
  {
    MutexLock lock(mutex_);
    if (is_between_) {
      settled_.push_back([self = shared_from_this(), request = std::move(request), call,
                          done = std::move(done)]() mutable {
        self->extend(std::move(request), call, std::move(done));
      });
    } else {
      ++extending_;
      request.session_handle = life_.handle;
      request.current_graph_version -= offset_;
      now = std::move(request);
    }
  }
  if (!now) return;
  wire::GraphDef added = now->graph;
  // Where there is a request, nothing was moved. NOLINTBEGIN(bugprone-use-after-move)
  master_.extend_session(
      *std::move(now), call,
      Done<ExtendSessionReply>([self = shared_from_this(), added = std::move(added),
                                done = std::move(done)](Result<ExtendSessionReply> reply) mutable {
        {
          MutexLock lock(self->mutex_);
          --self->extending_;
          if (reply.ok()) {
            append(self->graph_, std::move(added));
            reply->new_graph_version += self->offset_;
            self->version_ = reply->new_graph_version;
          }
        }
        done(std::move(reply));
        self->begin_renewal_if_due();
      }));
  // NOLINTEND(bugprone-use-after-move)
}

void LastingSession::close(const Call& call, Done<void> done) {
  CloseSessionRequest request;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    request.session_handle = life_.handle;
  }
  master_.close_session(std::move(request), call, std::move(done));
}

void LastingSession::end() {
  const Status why = closed_meanwhile();
  std::vector<std::string> to_close;
  bool was_pausing = false;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    to_close.swap(earlier_);
    pause_.cancel();
    was_pausing = std::exchange(is_pausing_, false);
  }
  ending_.cancel(why);
  if (was_pausing) settle(Found::nothing, why);
  for (std::string& handle : to_close) close_life(std::move(handle));
}

}  // namespace millrace
