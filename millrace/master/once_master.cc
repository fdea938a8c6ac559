#include "millrace/master/once_master.h"

#include <algorithm>
#include <utility>

#include "millrace/master/named_graph.h"
#include "millrace/master/once_session.h"

namespace millrace {
namespace {

bool names_its_steps(const wire::GraphDef& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const wire::NodeDef& node) { return node.name == kRetryStepNode; });
}

}  // namespace

OnceMaster::OnceMaster(MasterService& master, const OpRegistry& ops, const Host& host,
                       OnceTerms terms)
    : master_(master), ops_(ops), host_(host), terms_(terms) {}

OnceMaster::~OnceMaster() { stop(); }

void OnceMaster::stop() {
  end(handles());
  heartbeats_.wait();
}

std::vector<std::string> OnceMaster::handles() {
  MutexLock lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [handle, session] : sessions_) all.push_back(handle);
  return all;
}

void OnceMaster::end(const std::vector<std::string>& handles) {
  for (const std::string& handle : handles) {
    SessionPtr ended;
    {
      MutexLock lock(mutex_);
      const auto found = sessions_.find(handle);
      if (found == sessions_.end()) continue;
      ended = std::move(found->second);
      sessions_.erase(found);
    }
    ended->end();
  }
}

OnceMaster::SessionPtr OnceMaster::find(const std::string& handle) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? nullptr : found->second;
}

void OnceMaster::create_session(CreateSessionRequest request, Call call,
                                Done<CreateSessionReply> done) {
  if (names_its_steps(request.graph)) {
    return done(failed_precondition(
        "the session is to make steps again by itself (MILLRACE_RETRIES), and its master counts "
        "once (MILLRACE_ONCE), under which an update is named by the element that it is for: "
        "leave one of the two out"));
  }
  auto session = std::make_shared<OnceSession>(master_, ops_, host_, heartbeats_, terms_.lease);
  session->add_to(request.graph, OnceSession::Part::first);
  auto lasting =
      std::make_shared<LastingSession>(master_, ops_, host_, heartbeats_, terms_.patience, request);
  master_.create_session(
      std::move(request), call,
      Done<CreateSessionReply>([this, session = std::move(session), lasting = std::move(lasting),
                                call,
                                done = std::move(done)](Result<CreateSessionReply> reply) mutable {
        if (!reply.ok()) return done(std::move(reply));
        LastingSession& asked = *lasting;
        asked.begin(
            *reply, call,
            Done<bool>([this, session = std::move(session), lasting = std::move(lasting),
                        made = *reply, done = std::move(done)](Result<bool> can_last) mutable {
              if (!can_last.ok() || !*can_last) lasting = nullptr;
              session->begin(made.session_handle, std::move(lasting));
              {
                MutexLock lock(mutex_);
                sessions_[made.session_handle] = std::move(session);
              }
              done(std::move(made));
            }));
      }));
}

void OnceMaster::extend_session(ExtendSessionRequest request, Call call,
                                Done<ExtendSessionReply> done) {
  if (const auto session = find(request.session_handle)) {
    session->add_to(request.graph, OnceSession::Part::further);
    if (session->lasting() != nullptr)
      return session->lasting()->extend(std::move(request), call, std::move(done));
  }
  master_.extend_session(std::move(request), call, std::move(done));
}

void OnceMaster::run_step(RunStepRequest request, Call call, Done<RunStepReply> done) {
  const auto session = find(request.session_handle);
  if (session == nullptr) return master_.run_step(std::move(request), call, std::move(done));
  if (!request.partial_run_handle.empty())
    return session->run_leg(std::move(request), call, std::move(done));
  session->run_step(std::move(request), call, std::move(done));
}

void OnceMaster::partial_run_setup(PartialRunSetupRequest request, Call call,
                                   Done<PartialRunSetupReply> done) {
  if (const auto session = find(request.session_handle))
    return session->partial_run_setup(std::move(request), call, std::move(done));
  master_.partial_run_setup(std::move(request), call, std::move(done));
}

// Known here until the master has closed it: what comes meanwhile must not be passed on without its
// lease.
void OnceMaster::close_session(CloseSessionRequest request, Call call, Done<void> done) {
  const std::string handle = request.session_handle;
  Done<void> then([this, handle, done = std::move(done)](Status status) mutable {
    end({handle});
    done(std::move(status));
  });
  const auto session = find(handle);
  if (session == nullptr || session->lasting() == nullptr)
    return master_.close_session(std::move(request), call, std::move(then));
  session->lasting()->close(call, std::move(then));
}

void OnceMaster::list_devices(ListDevicesRequest request, Call call, Done<ListDevicesReply> done) {
  const auto session = find(request.session_handle);
  if (session == nullptr || session->lasting() == nullptr)
    return master_.list_devices(std::move(request), call, std::move(done));
  session->lasting()->life(
      call, Done<LastingSession::Life>(
                [this, call, done = std::move(done)](Result<LastingSession::Life> life) mutable {
                  if (!life.ok()) return done(std::move(life).status());
                  master_.list_devices({life->handle}, call, std::move(done));
                }));
}

// It ends every session of the master, unless it was refused.
void OnceMaster::reset(ResetRequest request, Call call, Done<void> done) {
  master_.reset(
      std::move(request), call,
      Done<void>([this, ended = handles(), done = std::move(done)](Status status) mutable {
        if (status.ok()) end(ended);
        done(std::move(status));
      }));
}

void OnceMaster::make_callable(MakeCallableRequest request, Call call,
                               Done<MakeCallableReply> done) {
  if (const auto session = find(request.session_handle))
    return session->make_callable(std::move(request), call, std::move(done));
  master_.make_callable(std::move(request), call, std::move(done));
}

void OnceMaster::run_callable(RunCallableRequest request, Call call, Done<RunCallableReply> done) {
  if (const auto session = find(request.session_handle))
    return session->run_callable(std::move(request), call, std::move(done));
  master_.run_callable(std::move(request), call, std::move(done));
}

void OnceMaster::release_callable(ReleaseCallableRequest request, Call call, Done<void> done) {
  if (const auto session = find(request.session_handle))
    return session->release_callable(std::move(request), call, std::move(done));
  master_.release_callable(std::move(request), call, std::move(done));
}

void OnceMaster::describe(Call call, Done<TaskDescription> done) {
  master_.describe(call, std::move(done));
}

}  // namespace millrace
