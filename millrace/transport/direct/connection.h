// Connection: one socket between two of our own processes, on which messages go both ways as
// frames. Read by the threads of a Poller, written by whoever has something to say.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/transport/direct/inbox.h"
#include "millrace/transport/direct/outbox.h"
#include "millrace/transport/sockets/file_descriptor.h"
#include "millrace/transport/threads/event.h"

namespace millrace::transport {

class Connection;

// Who writes connections a little later: what is said during one event, or while many are
// answered, goes out together.
enum class IfAsleep : uint8_t { leave, wake };
class Scribe {
 public:
  // False if it sleeps, is left so, and does nothing soon.
  virtual bool write_soon(std::shared_ptr<Connection> connection, IfAsleep then) = 0;

 protected:
  ~Scribe() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Events = std::deque<Event*>;

  virtual ~Connection();
  int descriptor() const { return socket_.get(); }

  // Any thread.
  void send(DirectOutgoing message);
  // In two: what is put is in its place before others that are put later, and is written by the
  // next flush(), whoever calls it.
  void put(DirectOutgoing message);
  // On a thread that handles an event (AfterEvent::Turn) or answers many (base/together.h) it may
  // be left to the scribe.
  void flush();
  // True if all that was put has been written.
  bool is_flushed() const;
  // Ends it, with what is under way; the reader notices.
  void hang_up() const;

  // Of the poller, one thread at a time.
  enum class Reading : uint8_t { more, drained, ended };
  // Reads for a while. What that sets off is appended to `events`. `is_ending`: the other side is
  // known to have ended it.
  Reading read(bool is_ending, Events& events);
  void became_writable();
  void write_all();
  // Until the end; before it is read.
  void have_scribe(Scribe& scribe);
  // Nothing will be read any more.
  void end(const Status& why, Events& events);

 protected:
  enum class Greeting : uint8_t { expected, past };
  // A socket that does not block, maybe not connected yet. With a greeting that is expected, ours
  // goes out first.
  Connection(FileDescriptor socket, Greeting greeting, std::shared_ptr<Intake> intake);

  // All by the poller's reading thread.
  virtual void greeted() {}
  // A message is here. Errors: it is none that belongs here, and the connection ends.
  virtual Status received(DirectMessage message, Events& events) = 0;
  // Once. Why is UNAVAILABLE in the system's words, or says what was wrong.
  virtual void ended(const Status& why, Events& events) = 0;

 private:
  Status greeting_came(std::string_view bytes);
  Status take(size_t size, Events& events);
  bool write_some() MR_REQUIRES(mutex_);

  const FileDescriptor socket_;
  Inbox inbox_;
  std::string greeting_;  // what is to come of it
  std::vector<DirectMessage> messages_;
  bool has_ended_ = false;

  mutable Mutex mutex_;
  Outbox outbox_ MR_GUARDED_BY(mutex_);
  std::string greeting_to_send_ MR_GUARDED_BY(mutex_);
  Scribe* scribe_ MR_GUARDED_BY(mutex_) = nullptr;
  bool is_left_to_scribe_ MR_GUARDED_BY(mutex_) = false;
  bool is_writing_ MR_GUARDED_BY(mutex_) = false;
  bool is_blocked_ MR_GUARDED_BY(mutex_) = false;    // the system takes nothing at the moment
  bool was_writable_ MR_GUARDED_BY(mutex_) = false;  // again, while somebody was writing
  bool is_broken_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::transport
