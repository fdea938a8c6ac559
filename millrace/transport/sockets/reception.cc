#include "millrace/transport/sockets/reception.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace millrace::transport {
namespace {

constexpr size_t kEventsAtOnce = 64;

constexpr std::string_view kWebAnswer =
    "HTTP/1.1 501 Not Implemented\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 78\r\n"
    "Connection: close\r\n"
    "\r\n"
    "This is a task of a Millrace cluster. It speaks gRPC and serves no web pages.\n";

// Fatal, handshake_failure: what a TLS client shows as a refusal and not as a lost connection.
constexpr std::string_view kTlsAnswer("\x15\x03\x01\x00\x02\x02\x28", 7);

struct Refusal {
  std::string_view why;     // for the log
  std::string_view answer;  // for the other side, in its own language
};

Refusal refusal_of(Opening opening) {
  switch (opening) {
    case Opening::tls:
      return {"began with TLS, which tasks do not speak yet", kTlsAnswer};
    case Opening::web:
      return {"asked for a web page; a task serves none", kWebAnswer};
    default:
      return {"began with bytes that are no protocol of this port; it speaks gRPC", {}};
  }
}

// Says the last word so that it arrives: closing while something is unread would take it back.
void say_and_close(FileDescriptor connection, std::string_view answer) {
  if (!answer.empty()) {
    std::array<char, 4096> unread;
    for (int i = 0; i < 16; ++i)
      if (::recv(connection.get(), unread.data(), unread.size(), MSG_DONTWAIT) <= 0) break;
    static_cast<void>(
        ::send(connection.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    ::shutdown(connection.get(), SHUT_WR);
  }
}

// The other side's address as numbers, for the log.
std::string name_of(const FileDescriptor& connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return "somebody who is gone";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* ip = nullptr;
  if (address.ss_family == AF_INET)
    ip = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  else if (address.ss_family == AF_INET6)
    ip = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (ip == nullptr || ::inet_ntop(address.ss_family, ip, text.data(), text.size()) == nullptr)
    return "this machine";
  return text.data();
}

}  // namespace

Reception::Reception(const Host& host, std::vector<Taker> takers)
    : Reception(host, std::move(takers), Options{}) {}
Reception::Reception(const Host& host, std::vector<Taker> takers, Options options)
    : host_(host),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      options_(options),
      takers_(std::move(takers)) {}

void Reception::admit(FileDescriptor connection, Clock::Time now) {
  const Opening opening = opening_of_next(connection);
  if (opening == Opening::unfinished) return keep(std::move(connection), now);
  decide(std::move(connection), opening, now);
}

void Reception::look(Clock::Time now) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(events_.get(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    const auto guest = waiting_.find(events[static_cast<size_t>(i)].data.u64);
    if (guest == waiting_.end()) continue;
    const Opening opening = opening_of_next(guest->second.connection);
    // An edge that tells of an end, too: what has not begun by then never will.
    const bool has_ended =
        (events[static_cast<size_t>(i)].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (opening != Opening::unfinished)
      decide(leave(guest), opening, now);
    else if (has_ended)
      leave(guest);
  }
  while (!waiting_.empty() && waiting_.begin()->second.since + options_.patience <= now) {
    const FileDescriptor silent = leave(waiting_.begin());
    tell("said nothing that begins a protocol, and is dropped", name_of(silent), now);
  }
}

std::optional<Clock::Time> Reception::until() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->second.since + options_.patience;
}

// The bytes stay where they are.
Opening Reception::opening_of_next(const FileDescriptor& connection) {
  std::array<char, kOpeningSize> bytes;
  const ssize_t size =
      ::recv(connection.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size <= 0) return Opening::unfinished;
  return opening_of({bytes.data(), static_cast<size_t>(size)});
}

void Reception::decide(FileDescriptor connection, Opening opening, Clock::Time now) {
  for (Taker& taker : takers_)
    if (taker.opening == opening) return taker.take(std::move(connection));
  const Refusal refusal = refusal_of(opening);
  tell(refusal.why, name_of(connection), now);
  say_and_close(std::move(connection), refusal.answer);
}

void Reception::keep(FileDescriptor connection, Clock::Time now) {
  if (waiting_.size() >= options_.most_waiting) {
    const FileDescriptor oldest = leave(waiting_.begin());
    tell("is dropped before it said anything, because too many connections wait", name_of(oldest),
         now);
  }
  const uint64_t number = ++num_admitted_;
  // Edges, so that a first byte that tells nothing does not wake us again and again.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.u64 = number;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0)
    return tell("is dropped because the system can't watch it", name_of(connection), now);
  waiting_.emplace(number, Guest{std::move(connection), now});
}

FileDescriptor Reception::leave(Guests::iterator guest) {
  FileDescriptor connection = std::move(guest->second.connection);
  waiting_.erase(guest);
  // Who gets it may read on for long, and none of that is for us.
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.get(), nullptr);
  return connection;
}

void Reception::tell(std::string_view what, const std::string& who, Clock::Time now) {
  if (last_line_ && now - *last_line_ < options_.pause_between_lines) {
    ++num_left_out_;
    host_.metrics.add(Counter::log_lines_left_out);
    return;
  }
  last_line_ = now;
  const int left_out = std::exchange(num_left_out_, 0);
  host_.log.warning(
      "a connection from ", who, " ", what,
      left_out == 0 ? std::string() : str_cat(" (", left_out, " more lines left out)"));
}

}  // namespace millrace::transport
