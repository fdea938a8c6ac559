#include "millrace/transport/direct/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/base/together.h"
#include "millrace/transport/threads/after_event.h"

namespace millrace::transport {
namespace {

// As much is read without looking at other connections, and at what has come: a large message is
// used while it is near.
constexpr int kReadsAtOnce = 16;
constexpr size_t kBytesAtOnce = size_t{1} << 20;

Status broken(int number) { return unavailable(std::strerror(number)); }
// In gRPC's words, which are known (connection_error.h).
Status closed() { return unavailable("Socket closed"); }

bool is_no_error(int number) {
  return number == EAGAIN || number == EWOULDBLOCK || number == EINPROGRESS || number == EALREADY ||
         number == ENOTCONN;
}

}  // namespace

Connection::Connection(FileDescriptor socket, Greeting greeting, std::shared_ptr<Intake> intake)
    : socket_(std::move(socket)), inbox_(std::move(intake)) {
  if (greeting == Greeting::past) return;
  greeting_ = kGreeting;
  greeting_to_send_ = kGreeting;
}

Connection::~Connection() = default;

void Connection::send(DirectOutgoing message) {
  put(std::move(message));
  flush();
}

void Connection::put(DirectOutgoing message) {
  MutexLock lock(mutex_);
  if (!is_broken_) outbox_.put(std::move(message));
}

bool Connection::is_flushed() const {
  MutexLock lock(mutex_);
  return is_broken_ || (outbox_.empty() && !is_writing_);
}

void Connection::have_scribe(Scribe& scribe) {
  MutexLock lock(mutex_);
  scribe_ = &scribe;
}

void Connection::flush() {
  const bool is_event = AfterEvent::Turn::is_now();
  if (is_event || Together::is_now()) {
    MutexLock lock(mutex_);
    if (is_left_to_scribe_) return;
    is_left_to_scribe_ =
        scribe_ != nullptr &&
        scribe_->write_soon(shared_from_this(), is_event ? IfAsleep::leave : IfAsleep::wake);
    if (is_left_to_scribe_) return;
  }
  write_all();
}

void Connection::write_all() {
  MutexLock lock(mutex_);
  is_left_to_scribe_ = false;
  if (is_writing_ || is_blocked_ || is_broken_) return;
  is_writing_ = true;
  while (write_some()) {
  }
  is_writing_ = false;
}

// One call of the system, without the lock. False if there is no more to write, or no room.
bool Connection::write_some() {
  std::array<iovec, 1> greeting{iovec{greeting_to_send_.data(), greeting_to_send_.size()}};
  const bool greets = !greeting_to_send_.empty();
  const std::span<iovec> parts = greets ? std::span<iovec>(greeting) : outbox_.next();
  if (parts.empty()) return false;
  was_writable_ = false;
  mutex_.unlock();
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t size = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  const int number = errno;
  mutex_.lock();
  if (size >= 0) {
    if (greets) {
      greeting_to_send_.erase(0, static_cast<size_t>(size));
    } else {
      outbox_.sent(static_cast<size_t>(size));
    }
    return true;
  }
  if (number == EINTR) return true;
  if (is_no_error(number)) {
    // It may have become writable before anybody could be told that it was not.
    is_blocked_ = !was_writable_;
    return !is_blocked_;
  }
  // The reader will hear why.
  is_broken_ = true;
  outbox_.clear();
  hang_up();
  return false;
}

void Connection::became_writable() {
  {
    MutexLock lock(mutex_);
    is_blocked_ = false;
    was_writable_ = true;
  }
  write_all();
}

void Connection::hang_up() const { ::shutdown(socket_.get(), SHUT_RDWR); }

void Connection::end(const Status& why, Events& events) {
  if (std::exchange(has_ended_, true)) return;
  {
    MutexLock lock(mutex_);
    is_broken_ = true;
    scribe_ = nullptr;
    if (!is_writing_) outbox_.clear();
  }
  hang_up();
  ended(why, events);
}

Connection::Reading Connection::read(bool is_ending, Events& events) {
  size_t bytes = 0;
  for (int i = 0; i < kReadsAtOnce && bytes < kBytesAtOnce; ++i) {
    if (has_ended_) return Reading::ended;
    std::array<iovec, 2> space = inbox_.space();
    if (!greeting_.empty()) space = {iovec{nullptr, 0}, iovec{space[1].iov_base, greeting_.size()}};
    const size_t room = space[0].iov_len + space[1].iov_len;
    const ssize_t size = ::readv(socket_.get(), space.data(), space.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && is_no_error(errno) && !is_ending) return Reading::drained;
    if (size <= 0) {
      end(size == 0 || is_no_error(errno) ? closed() : broken(errno), events);
      return Reading::ended;
    }
    bytes += static_cast<size_t>(size);
    const bool was_greeting = !greeting_.empty();
    Status status = was_greeting ? greeting_came({static_cast<const char*>(space[1].iov_base),
                                                  static_cast<size_t>(size)})
                                 : take(static_cast<size_t>(size), events);
    if (!status.ok()) {
      end(status, events);
      return Reading::ended;
    }
    if (!was_greeting && static_cast<size_t>(size) < room && !is_ending) return Reading::drained;
  }
  return Reading::more;
}

Status Connection::greeting_came(std::string_view bytes) {
  if (!greeting_.starts_with(bytes))
    return unavailable("the other side does not speak this protocol");
  greeting_.erase(0, bytes.size());
  if (greeting_.empty()) greeted();
  return {};
}

Status Connection::take(size_t size, Events& events) {
  messages_.clear();
  const Status status = inbox_.took(size, messages_);
  for (DirectMessage& message : messages_) MR_TRY(received(std::move(message), events));
  messages_.clear();
  return status;
}

}  // namespace millrace::transport
