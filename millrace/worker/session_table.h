// SessionTable: the sessions that masters have on this worker, by handle. Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/worker/worker_session.h"

namespace millrace {

class SessionTable {
 public:
  using SessionPtr = std::shared_ptr<WorkerSession>;

  // `legacy` serves masters that create no sessions; `worker_name` is for messages.
  SessionTable(SessionPtr legacy, std::string worker_name)
      : legacy_(std::move(legacy)), worker_name_(std::move(worker_name)) {}

  // Keeps the session, unless there is one of its handle already. Sessions of the same master task
  // with another incarnation are dropped first, for that master is gone; they are returned to be
  // closed. Errors: the reason of `close`; ABORTED for a session that was taken before it came, as
  // requests that the master had given up may do.
  Result<std::vector<SessionPtr>> insert(SessionPtr session);
  // `create_called` as in the request: false means the legacy session, whatever the handle.
  // Errors: ABORTED with TensorFlow's text and payload for a handle that is not known, as after a
  // restart of the worker; the reason of `close`.
  Result<SessionPtr> find(const std::string& handle, bool create_called) const;
  // Null if there is none; it will be refused if it still comes.
  SessionPtr take(const std::string& handle);
  // True if there is no session but the legacy one.
  bool empty() const;
  // Refuses everything from now on with `why`. Returns what was there, the legacy session first.
  std::vector<SessionPtr> close(const Status& why);
  Status closed() const;
  // The legacy session first, then by handle.
  std::vector<SessionPtr> all() const;

 private:
  std::vector<SessionPtr> in_order() const MR_REQUIRES(mutex_);

  const SessionPtr legacy_;
  const std::string worker_name_;
  mutable Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, SessionPtr> sessions_ MR_GUARDED_BY(mutex_);
  std::deque<std::string> taken_early_ MR_GUARDED_BY(mutex_);  // the last ones
};

}  // namespace millrace
