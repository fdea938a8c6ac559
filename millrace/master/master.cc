#include "millrace/master/master.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/master/gather.h"
#include "millrace/master/master_session.h"
#include "millrace/master/membership.h"
#include "millrace/master/roll_call.h"
#include "millrace/master/session_creation.h"

namespace millrace {

namespace {

// Handles are 16 lower-case hex digits. Nothing for a text that can't be one of ours.
std::optional<uint64_t> handle_number(const std::string& handle) {
  if (handle.size() != 16) return std::nullopt;
  uint64_t number = 0;
  for (const char c : handle) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    number = number << 4 | digit;
  }
  return number;
}

}  // namespace

Master::Master(MasterOptions options) : context_(std::move(options)) {}

Master::~Master() {
  stop(cancelled("the server is being destroyed"));
  context_.in_flight.wait();
}

void Master::stop(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (!stopped_.ok()) return;
    stopped_ = why;
  }
  for (const SessionPtr& session : take_all()) session->close(why, Done<void>([](Status) {}));
  context_.stopping.cancel(why);
}

bool Master::drain(Clock::Duration patience) {
  return context_.in_flight.wait(context_.now() + patience);
}

Master::Counts Master::counts() {
  MutexLock lock(mutex_);
  return {sessions_.size(), context_.in_flight.count()};
}

Status Master::why_stopped() {
  MutexLock lock(mutex_);
  return stopped_;
}

Result<Master::SessionPtr> Master::find(const std::string& handle) {
  const auto number = handle_number(handle);
  MutexLock lock(mutex_);
  if (!stopped_.ok()) return stopped_;
  if (number) {
    const auto found = sessions_.find(*number);
    if (found != sessions_.end()) return found->second;
  }
  return no_session(handle);
}

Result<Master::SessionPtr> Master::take(const std::string& handle) {
  const auto number = handle_number(handle);
  MutexLock lock(mutex_);
  const auto found = number ? sessions_.find(*number) : sessions_.end();
  if (found == sessions_.end()) return no_session(handle);
  SessionPtr session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

std::vector<Master::SessionPtr> Master::take_all() {
  std::vector<SessionPtr> all;
  MutexLock lock(mutex_);
  for (auto& [handle, session] : sessions_) all.push_back(std::move(session));
  sessions_.clear();
  // A run that is repeated is to go the same way, whatever the addresses.
  std::ranges::sort(
      all, {}, [](const auto& session) -> const auto& { return session->handle(); });
  return all;
}

Status Master::insert(const SessionPtr& session) {
  MutexLock lock(mutex_);
  if (!stopped_.ok()) return stopped_;
  sessions_.emplace(*handle_number(session->handle()), session);
  context_.host().metrics.add(Counter::sessions_created);
  if (session->membership().is_sent) return {};
  for (const Present& present : session->members())
    if (present.member.task != context_.options.own_task)
      met_.try_emplace(present.member.task, present.worker);
  return {};
}

std::vector<std::shared_ptr<WorkerService>> Master::acquaintances() {
  std::vector<std::shared_ptr<WorkerService>> workers;
  {
    MutexLock lock(mutex_);
    for (const auto& [task, worker] : met_)
      if (!context_.has_ended(task)) workers.push_back(worker);
    if (!met_.empty()) return workers;
  }
  for (const Member& member : context_.options.members->list()) {
    if (member.task == context_.options.own_task || context_.has_ended(member.task)) continue;
    auto worker = context_.worker(member.task);
    if (worker.ok()) workers.push_back(std::move(*worker));
  }
  return workers;
}

void Master::say_farewell(uint64_t incarnation, const Call& call, Done<void> done) {
  const EndedTask ended{context_.options.own_task, incarnation};
  // Who asks in the meantime learns it as well.
  if (context_.options.departures != nullptr) (void)context_.options.departures->note(ended);
  const auto workers = acquaintances();
  if (workers.empty()) return done(Status());
  auto answers = gather<void>(workers.size(),
                              [token = context_.in_flight.enter(), workers, done = std::move(done)](
                                  const std::vector<Status>&) mutable { done(Status()); });
  for (size_t i = 0; i < workers.size(); ++i)
    workers[i]->farewell(ended, call, std::move(answers[i]));
}

void Master::create_session(CreateSessionRequest request, Call call,
                            Done<CreateSessionReply> done) {
  if (Status stopped = why_stopped(); !stopped.ok()) {
    done(std::move(stopped));
    return;
  }
  millrace::create_session(
      context_, std::move(request), call,
      Done<SessionPtr>([this, done = std::move(done)](Result<SessionPtr> session) mutable {
        if (!session.ok()) {
          done(session.status());
          return;
        }
        if (Status late = insert(*session); !late.ok()) {
          (*session)->close(late, Done<void>([](Status) {}));
          done(std::move(late));
          return;
        }
        done(CreateSessionReply{(*session)->handle(), 0});
      }));
}

void Master::extend_session(ExtendSessionRequest request, Call, Done<ExtendSessionReply> done) {
  auto session = find(request.session_handle);
  if (!session.ok()) {
    done(session.status());
  } else {
    done((*session)->extend(request));
  }
}

void Master::run_step(RunStepRequest request, Call call, Done<RunStepReply> done) {
  auto session = find(request.session_handle);
  if (!session.ok()) {
    done(session.status());
  } else {
    (*session)->run_step(std::move(request), call, std::move(done));
  }
}

void Master::partial_run_setup(PartialRunSetupRequest request, Call call,
                               Done<PartialRunSetupReply> done) {
  auto session = find(request.session_handle);
  if (!session.ok()) {
    done(session.status());
  } else {
    (*session)->partial_run_setup(std::move(request), call, std::move(done));
  }
}

void Master::make_callable(MakeCallableRequest request, Call call, Done<MakeCallableReply> done) {
  auto session = find(request.session_handle);
  if (!session.ok()) {
    done(session.status());
  } else {
    (*session)->make_callable(std::move(request), call, std::move(done));
  }
}

void Master::run_callable(RunCallableRequest request, Call call, Done<RunCallableReply> done) {
  auto session = find(request.session_handle);
  if (!session.ok()) {
    done(session.status());
  } else {
    (*session)->run_callable(std::move(request), call, std::move(done));
  }
}

void Master::describe(Call call, Done<TaskDescription> done) {
  if (context_.options.task == nullptr) return MasterService::describe(call, std::move(done));
  done(context_.options.task->describe());
}

void Master::release_callable(ReleaseCallableRequest request, Call, Done<void> done) {
  auto session = find(request.session_handle);
  done(session.ok() ? (*session)->release_callable(request.handle) : session.status());
}

void Master::close_session(CloseSessionRequest request, Call, Done<void> done) {
  auto session = take(request.session_handle);
  if (!session.ok()) {
    done(session.status());
    return;
  }
  (*session)->close(cancelled("Step was cancelled by an explicit call to `Session::Close()`."),
                    std::move(done));
}

void Master::list_devices(ListDevicesRequest request, Call call, Done<ListDevicesReply> done) {
  if (!request.session_handle.empty()) {
    auto session = find(request.session_handle);
    if (session.ok()) {
      done((*session)->devices());
    } else {
      // Clients know this case by INVALID_ARGUMENT; a master that stops says so instead.
      const Status& why = session.status();
      done(why.code() == Code::aborted ? invalid(why.message()) : why);
    }
    return;
  }
  auto membership =
      resolve_membership(context_.options.members->list(), context_.options.own_task, {}, "");
  if (!membership.ok()) {
    done(membership.status());
    return;
  }
  call_the_roll(context_, *membership, "ListDevices", call,
                Done<std::vector<Present>>([own = membership->self, done = std::move(done)](
                                               Result<std::vector<Present>> present) mutable {
                  if (!present.ok()) {
                    done(present.status());
                    return;
                  }
                  ListDevicesReply reply;
                  for (const Present& member : *present) {
                    auto& list = member.member.task == own ? reply.local : reply.remote;
                    list.insert(list.end(), member.devices.begin(), member.devices.end());
                  }
                  done(std::move(reply));
                }));
}

void Master::reset(ResetRequest request, Call call, Done<void> done) {
  SessionOptions filters;
  filters.device_filters = context_.options.defaults.device_filters;
  filters.device_filters.insert(filters.device_filters.end(), request.device_filters.begin(),
                                request.device_filters.end());
  auto membership =
      resolve_membership(context_.options.members->list(), context_.options.own_task, filters, "");
  if (!membership.ok()) {
    done(membership.status());
    return;
  }
  std::vector<std::shared_ptr<WorkerService>> workers;
  for (const Member& member : membership->members) {
    auto worker = context_.worker(member.task);
    if (!worker.ok()) {
      done(worker.status().with(str_cat("resetting ", member.task.to_string())));
      return;
    }
    workers.push_back(std::move(worker).value());
  }
  // Sessions end when their containers are gone, so that no step of theirs makes new ones.
  auto answers = gather<void>(
      workers.size(), [sessions = take_all(), token = context_.in_flight.enter(),
                       done = std::move(done)](const std::vector<Status>& outcomes) mutable {
        for (const SessionPtr& session : sessions) {
          session->close(cancelled("Step was cancelled because the session was reset."),
                         Done<void>([](Status) {}));
        }
        done(first_cause(outcomes));
      });
  for (size_t i = 0; i < workers.size(); ++i)
    workers[i]->cleanup_all({request.containers}, call, std::move(answers[i]));
}

}  // namespace millrace
