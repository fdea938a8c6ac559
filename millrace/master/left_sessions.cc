#include "millrace/master/left_sessions.h"

namespace millrace {

void LeftSessions::note(std::string address, std::string session_handle) {
  MutexLock lock(mutex_);
  sessions_.emplace_back(std::move(address), std::move(session_handle));
  if (sessions_.size() > kMost) sessions_.pop_front();
}

std::vector<std::string> LeftSessions::take(std::string_view address) {
  std::vector<std::string> taken;
  MutexLock lock(mutex_);
  std::erase_if(sessions_, [&](auto& session) {
    if (session.first != address) return false;
    taken.push_back(std::move(session.second));
    return true;
  });
  return taken;
}

}  // namespace millrace
