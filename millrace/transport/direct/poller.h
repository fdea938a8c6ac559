// Poller: waits for what comes over connections, and tells what that sets off (an EventSource).
//
// Shared by the threads that read it and by every connection's owner. Connections are read by one
// thread at a time, each for a while, and written by it when they take bytes again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"

#include "millrace/base/lookout.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/transport/direct/connection.h"
#include "millrace/transport/sockets/file_descriptor.h"
#include "millrace/transport/threads/event.h"

namespace millrace::transport {

class Poller final : public EventSource, public Scribe {
 public:
  // `on_first_use` sees to it that somebody reads; if it can't, it is asked again at the next use.
  explicit Poller(absl::AnyInvocable<Status()> on_first_use);
  ~Poller() override;

  // Reads it from now on, until it ends. Errors: UNAVAILABLE after close(); RESOURCE_EXHAUSTED if
  // the system has no descriptor or thread left.
  Status add(const std::shared_ptr<Connection>& connection);
  // `event` happens soon. Any thread.
  void post(Event* event);
  // The same, if somebody reads; else false, and nothing has been done.
  bool post_to_reader(Event* event);
  // Ends all connections and lets the readers see the end, once all has happened.
  void close();

  std::optional<Happening> next() override;
  // By whoever leads next: at the end of the event, or after a moment if that takes longer.
  bool write_soon(std::shared_ptr<Connection> connection, IfAsleep then) override;

 private:
  enum class Then : uint8_t { go_on, sleep };
  void write_what_waits(Then then);
  void has_woken();
  Status begin() MR_REQUIRES(mutex_);
  void wake() const;
  void wait(bool may_sleep);
  bool look(int timeout);
  void woken();
  void look_at(const std::shared_ptr<Connection>& connection, uint32_t signs);
  void read(const std::shared_ptr<Connection>& connection, bool is_ending);
  void forget(const Connection& connection);
  std::shared_ptr<Connection> find(int descriptor);
  void end_all();
  bool is_over();

  Mutex mutex_;
  absl::AnyInvocable<Status()> on_first_use_ MR_GUARDED_BY(mutex_);
  FileDescriptor events_;  // an epoll; set before the first thread reads
  FileDescriptor wake_;    // an eventfd, likewise
  bool has_begun_ MR_GUARDED_BY(mutex_) = false;
  bool is_closed_ MR_GUARDED_BY(mutex_) = false;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  // By their descriptors, which are open as long.
  absl::flat_hash_map<int, std::shared_ptr<Connection>> connections_ MR_GUARDED_BY(mutex_);
  std::vector<Event*> posted_ MR_GUARDED_BY(mutex_);
  Mutex unwritten_mutex_;
  bool sleeps_ MR_GUARDED_BY(unwritten_mutex_) = false;
  std::vector<std::shared_ptr<Connection>> unwritten_ MR_GUARDED_BY(unwritten_mutex_);

  // Of the reading thread.
  struct Unread {
    std::shared_ptr<Connection> connection;
    bool is_ending;
  };
  int since_written_ = 0;  // events
  std::vector<std::shared_ptr<Connection>> writing_;
  Lookout lookout_;
  Connection::Events ready_;
  std::deque<Unread> unread_;
};

}  // namespace millrace::transport
