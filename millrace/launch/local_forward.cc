#include "millrace/launch/local_forward.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <utility>

#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

constexpr Clock::Duration kToReachMachine = std::chrono::seconds(10);
constexpr size_t kMostUnwritten = 262'144;  // in one direction of one connection
constexpr size_t kMostConnections = 256;    // others wait in the system's queue
constexpr int kWaitingConnections = 64;
constexpr const char* kHere = "127.0.0.1";

struct Address {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

Result<Address> resolved(const HostPort& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
  if (fault != 0) return unavailable(to.to_string(), ": ", gai_strerror(fault));
  Address address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

// Begun, and not waited for; not open if it failed at once, with errno saying why.
Descriptor begun_connection(const Address& to) {
  Descriptor socket(::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket;
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0 ||
      errno == EINPROGRESS)
    return socket;
  const int fault = errno;
  socket.close();
  errno = fault;
  return socket;
}

int fault_of(const Descriptor& socket) {
  int fault = 0;
  socklen_t size = sizeof fault;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &fault, &size) != 0) return errno;
  return fault;
}

// 0, or the error that a try to connect failed of.
int try_connect(const Address& to, const Clock& clock) {
  const Descriptor socket = begun_connection(to);
  if (!socket.is_open()) return errno;
  const Clock::Time deadline = clock.now() + kToReachMachine;
  pollfd event{socket.number(), POLLOUT, 0};
  while (poll(&event, 1, poll_milliseconds(deadline, clock.now())) <= 0)
    if (clock.now() >= deadline) return ETIMEDOUT;
  return fault_of(socket);
}

// A connection that came in, and the one that it is brought to.
class Pair {
 public:
  Pair(Descriptor here, Descriptor there) {
    sides_[0].socket = std::move(here);
    sides_[1].socket = std::move(there);
  }

  void add_descriptors(std::vector<pollfd>& events) const {
    for (size_t i = 0; i < sides_.size(); ++i) {
      const Side& side = sides_[i];
      short wanted = 0;
      const bool has_room = sides_[1 - i].unwritten.size() < kMostUnwritten;
      if (!side.has_said_all && has_room && !connecting_) wanted |= POLLIN;
      if (!side.unwritten.empty() || (connecting_ && i == 1)) wanted |= POLLOUT;
      events.push_back({wanted == 0 ? -1 : side.socket.number(), wanted, 0});
    }
  }

  // 0 as long as it goes on, -1 at its end, or the error that it could not be brought there for.
  int move(const pollfd& here, const pollfd& there) {
    if (connecting_) {
      if (there.revents == 0) return 0;
      connecting_ = false;
      if (const int fault = fault_of(sides_[1].socket); fault != 0) return fault;
    }
    if ((here.revents != 0 && !read(0)) || (there.revents != 0 && !read(1))) return -1;
    if (!write(0) || !write(1)) return -1;
    const bool is_over = sides_[0].is_told && sides_[1].is_told;
    return is_over ? -1 : 0;
  }

 private:
  struct Side {
    Descriptor socket = {};
    std::string unwritten = {};  // to it
    bool has_said_all = false;
    bool is_told = false;  // that the other side has said all
  };

  bool read(size_t from) {
    Side& side = sides_[from];
    std::string& to = sides_[1 - from].unwritten;
    std::array<char, 65'536> bytes;
    if (side.has_said_all || to.size() >= kMostUnwritten) return true;
    const ssize_t size = recv(side.socket.number(), bytes.data(), bytes.size(), 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    side.has_said_all = size == 0;
    to.append(bytes.data(), static_cast<size_t>(size));
    return true;
  }

  bool write(size_t to) {
    Side& side = sides_[to];
    while (!side.unwritten.empty()) {
      const ssize_t size =
          send(side.socket.number(), side.unwritten.data(), side.unwritten.size(), MSG_NOSIGNAL);
      if (size < 0) return errno == EAGAIN || errno == EINTR;
      side.unwritten.erase(0, static_cast<size_t>(size));
    }
    if (sides_[1 - to].has_said_all && !std::exchange(side.is_told, true))
      shutdown(side.socket.number(), SHUT_WR);
    return true;
  }

  std::array<Side, 2> sides_;
  bool connecting_ = true;
};

class Forwarding {
 public:
  Forwarding(const ForwardedPort& port, Address to, Descriptor listener)
      : port_(port), to_(to), listener_(std::move(listener)) {}

  // Until a signal comes.
  void run() {
    SignalWatch signals;
    while (!signals.take()) {
      std::vector<pollfd> events = {{signals.descriptor(), POLLIN, 0}};
      const bool takes_more = pairs_.size() < kMostConnections;
      events.push_back({takes_more ? listener_.number() : -1, POLLIN, 0});
      for (const Pair& pair : pairs_) pair.add_descriptors(events);
      poll(events.data(), events.size(), -1);
      size_t next = 2;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); next += 2) {
        const int end = pair->move(events[next], events[next + 1]);
        if (end > 0) port_.say(str_cat(port_.to.to_string(), ": ", strerror(end)));
        pair = end == 0 ? std::next(pair) : pairs_.erase(pair);
      }
      if (events[1].revents != 0) take_one();
    }
  }

 private:
  void take_one() {
    Descriptor here(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!here.is_open()) return;
    Descriptor there = begun_connection(to_);
    if (there.is_open()) {
      pairs_.emplace_back(std::move(here), std::move(there));
    } else {
      port_.say(str_cat(port_.to.to_string(), ": ", strerror(errno)));
    }
  }

  const ForwardedPort& port_;
  const Address to_;
  Descriptor listener_;
  std::list<Pair> pairs_;
};

}  // namespace

Status forward_port(const ForwardedPort& port, const Clock& clock) {
  MR_ASSIGN(const Address to, resolved(port.to));
  const int fault = try_connect(to, clock);
  if (fault != 0 && fault != ECONNREFUSED)
    return unavailable(port.to.to_string(), " can't be reached from here: ", strerror(fault));
  MR_ASSIGN(const HeldPort held, HeldPort::bind(kHere, port.local));
  MR_ASSIGN(Descriptor listener, held.listen(kWaitingConnections));
  port.say(str_cat(kHere, ":", held.port(), " -> ", port.to.to_string(),
                   fault == 0 ? "" : ", where nobody listens yet"));
  Forwarding(port, to, std::move(listener)).run();
  return {};
}

Status forward_by(const std::vector<std::string>& command,
                  const std::function<void(const std::string&)>& say) {
  SignalWatch signals;
  MR_ASSIGN(RunningCommand running, RunningCommand::start(command, RunningCommand::Errors::heard));
  std::string last;
  while (!signals.take()) {
    std::array<pollfd, 2> events = {pollfd{signals.descriptor(), POLLIN, 0},
                                    pollfd{running.descriptor(), POLLIN, 0}};
    poll(events.data(), events.size(), -1);
    if (events[1].revents == 0) continue;
    const bool goes_on = running.read([&](std::string_view line) {
      last = line;
      say(last);
    });
    if (goes_on) continue;
    const int code = running.wait();
    // Both may have been told to end.
    if (signals.take()) return {};
    if (code == 127) return not_found("there is no '", command[0], "' on the PATH");
    return unavailable("'", command[0], "' has ended with code ", code, last.empty() ? "" : ": ",
                       last);
  }
  return {};
}

}  // namespace millrace
