#include "millrace/transport/direct/poller.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "millrace/base/result.h"

namespace millrace::transport {
namespace {

constexpr int kEventsAtOnce = 64;
// What these say goes out together.
constexpr int kEventsTogether = 8;

Status no_descriptor(std::string_view what) {
  return error(Code::resource_exhausted, "can't open a descriptor to ", what, ": ",
               std::strerror(errno), "; raise the limit of open files (ulimit -n)");
}

bool watch(const FileDescriptor& events, int descriptor, uint32_t signs) {
  epoll_event event{};
  event.events = signs;
  event.data.fd = descriptor;
  return ::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

Poller::Poller(absl::AnyInvocable<Status()> on_first_use)
    : on_first_use_(std::move(on_first_use)) {}
Poller::~Poller() = default;

Status Poller::begin() {
  if (has_begun_) return {};
  if (!events_) events_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return no_descriptor("wait for connections");
  if (!wake_) {
    wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_ || !watch(events_, wake_.get(), EPOLLIN)) {
      wake_.close();
      return no_descriptor("be woken by");
    }
  }
  MR_TRY(on_first_use_());
  has_begun_ = true;
  return {};
}

Status Poller::add(const std::shared_ptr<Connection>& connection) {
  MutexLock lock(mutex_);
  if (is_closed_) return unavailable("the transport of this process has been shut down");
  MR_TRY(begin());
  connection->have_scribe(*this);
  connections_.emplace(connection->descriptor(), connection);
  // Edges: a connection is looked at when something has changed, and is then read to its end.
  if (watch(events_, connection->descriptor(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))
    return {};
  const Status status = no_descriptor("watch a connection");
  connections_.erase(connection->descriptor());
  return status;
}

void Poller::wake() const {
  const uint64_t one = 1;
  // It fails only if it has been woken 2^64 times.
  static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
}

bool Poller::post_to_reader(Event* event) {
  MutexLock lock(mutex_);
  if (!has_begun_ || is_over_) return false;
  posted_.push_back(event);
  wake();
  return true;
}

void Poller::post(Event* event) {
  // Nobody reads any more.
  if (!post_to_reader(event)) event->happened(true);
}

void Poller::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  if (has_begun_) wake();
}

std::optional<Happening> Poller::next() {
  while (true) {
    if (!ready_.empty()) {
      if (++since_written_ > kEventsTogether) write_what_waits(Then::go_on);
      Event* const event = ready_.front();
      ready_.pop_front();
      return Happening{event, true};
    }
    write_what_waits(unread_.empty() ? Then::sleep : Then::go_on);
    if (is_over()) return std::nullopt;
    wait(unread_.empty());
    has_woken();
    if (unread_.empty()) continue;
    const Unread next = std::move(unread_.front());
    unread_.pop_front();
    read(next.connection, next.is_ending);
  }
}

bool Poller::write_soon(std::shared_ptr<Connection> connection, IfAsleep then) {
  MutexLock lock(unwritten_mutex_);
  if (sleeps_ && then == IfAsleep::leave) return false;
  unwritten_.push_back(std::move(connection));
  // It writes before it sleeps again, so it is woken once.
  if (std::exchange(sleeps_, false)) wake();
  return true;
}

void Poller::write_what_waits(Then then) {
  since_written_ = 0;
  while (true) {
    {
      MutexLock lock(unwritten_mutex_);
      writing_.swap(unwritten_);
      if (writing_.empty()) {
        sleeps_ = then == Then::sleep;
        return;
      }
    }
    for (const auto& connection : writing_) connection->write_all();
    writing_.clear();
  }
}

void Poller::has_woken() {
  MutexLock lock(unwritten_mutex_);
  sleeps_ = false;
}

bool Poller::is_over() {
  MutexLock lock(mutex_);
  if (!is_closed_ || !connections_.empty() || !posted_.empty()) return false;
  return is_over_ = true;
}

void Poller::wait(bool may_sleep) {
  if (!may_sleep) {
    look(0);
  } else if (!lookout_.finds([this] { return look(0); })) {
    lookout_.begins_to_sleep();
    look(-1);
    lookout_.has_slept();
  }
}

// False if nothing has come.
bool Poller::look(int timeout) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsAtOnce, timeout);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_.get()) {
      woken();
    } else if (const auto connection = find(event.data.fd); connection != nullptr) {
      look_at(connection, event.events);
    }
  }
  return count > 0;
}

std::shared_ptr<Connection> Poller::find(int descriptor) {
  MutexLock lock(mutex_);
  const auto found = connections_.find(descriptor);
  return found == connections_.end() ? nullptr : found->second;
}

void Poller::look_at(const std::shared_ptr<Connection>& connection, uint32_t signs) {
  if ((signs & EPOLLOUT) != 0) connection->became_writable();
  const bool is_ending = (signs & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  if (is_ending || (signs & EPOLLIN) != 0) read(connection, is_ending);
}

void Poller::read(const std::shared_ptr<Connection>& connection, bool is_ending) {
  switch (connection->read(is_ending, ready_)) {
    case Connection::Reading::more:
      unread_.push_back({connection, is_ending});
      return;
    case Connection::Reading::drained:
      return;
    case Connection::Reading::ended:
      forget(*connection);
  }
}

void Poller::forget(const Connection& connection) {
  std::shared_ptr<Connection> last;  // goes without the lock
  MutexLock lock(mutex_);
  const auto found = connections_.find(connection.descriptor());
  if (found == connections_.end()) return;
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.descriptor(), nullptr);
  last = std::move(found->second);
  connections_.erase(found);
}

void Poller::woken() {
  uint64_t times = 0;
  static_cast<void>(!::read(wake_.get(), &times, sizeof(times)));
  bool ends = false;
  {
    MutexLock lock(mutex_);
    ready_.insert(ready_.end(), posted_.begin(), posted_.end());
    posted_.clear();
    ends = is_closed_;
  }
  if (ends) end_all();
}

void Poller::end_all() {
  std::vector<std::shared_ptr<Connection>> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [descriptor, connection] : connections_) all.push_back(connection);
  }
  for (const auto& connection : all) {
    connection->end(unavailable("the transport of this process has been shut down"), ready_);
    forget(*connection);
  }
}

}  // namespace millrace::transport
