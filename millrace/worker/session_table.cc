#include "millrace/worker/session_table.h"

#include <algorithm>
#include <utility>

#include "millrace/base/shown.h"

namespace millrace {

namespace {
// Requests overtake each other by milliseconds.
constexpr size_t kTakenEarly = 1000;
}  // namespace

Result<std::vector<SessionTable::SessionPtr>> SessionTable::insert(SessionPtr session) {
  std::vector<SessionPtr> outdated;
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (std::ranges::find(taken_early_, session->handle()) != taken_early_.end())
    return aborted("session ", shown(session->handle()), " was closed before it came");
  if (!session->master_task().empty()) {
    absl::erase_if(sessions_, [&](const auto& known) {
      const WorkerSession& other = *known.second;
      const bool is_outdated = other.master_task() == session->master_task() &&
                               other.master_incarnation() != session->master_incarnation();
      if (is_outdated) outdated.push_back(known.second);
      return is_outdated;
    });
  }
  std::ranges::sort(
      outdated, {}, [](const auto& other) -> const auto& { return other->handle(); });
  sessions_.try_emplace(session->handle(), session);
  return outdated;
}

Result<SessionTable::SessionPtr> SessionTable::find(const std::string& handle,
                                                    bool create_called) const {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (!create_called) return legacy_;
  const auto found = sessions_.find(handle);
  if (found != sessions_.end()) return found->second;
  return aborted("Session handle is not found: ", shown(handle), ". Possibly this worker (\"",
                 worker_name_, "\") just restarted.")
      .with_payload(kWorkerPossiblyRestartedUrl, "");
}

SessionTable::SessionPtr SessionTable::take(const std::string& handle) {
  MutexLock lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) {
    taken_early_.push_back(handle);
    if (taken_early_.size() > kTakenEarly) taken_early_.pop_front();
    return nullptr;
  }
  SessionPtr session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

bool SessionTable::empty() const {
  MutexLock lock(mutex_);
  return sessions_.empty();
}

std::vector<SessionTable::SessionPtr> SessionTable::close(const Status& why) {
  MutexLock lock(mutex_);
  if (closed_.ok()) closed_ = why;
  std::vector<SessionPtr> sessions = in_order();
  sessions_.clear();
  return sessions;
}

Status SessionTable::closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

std::vector<SessionTable::SessionPtr> SessionTable::all() const {
  MutexLock lock(mutex_);
  return in_order();
}

std::vector<SessionTable::SessionPtr> SessionTable::in_order() const {
  std::vector<SessionPtr> sessions = {legacy_};
  for (const auto& [handle, session] : sessions_) sessions.push_back(session);
  std::sort(sessions.begin() + 1, sessions.end(),
            [](const SessionPtr& a, const SessionPtr& b) { return a->handle() < b->handle(); });
  return sessions;
}

}  // namespace millrace
