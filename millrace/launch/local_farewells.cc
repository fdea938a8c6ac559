#include "millrace/launch/local_farewells.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using LineSink = std::function<void(std::string_view line)>;

constexpr Clock::Duration kPatienceWithCallers = seconds(10);
constexpr Clock::Duration kAskingTime = seconds(3);
constexpr milliseconds kBetweenCalls{300};
constexpr size_t kMostCallers = 256;
constexpr size_t kMostCalls = 64;
constexpr int kCallBacklog = 1024;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// A connection that is being made to a task's attendant; not open if it can't be.
Descriptor call(const HostPort& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found) != 0)
    return {};
  const Addresses list(found, &freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.is_open() && connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 &&
      errno != EINPROGRESS)
    return {};
  return socket;
}

// Calls these tasks, and says the line to those that answer at once. Returns who has not heard it.
std::vector<HostPort> say_to(std::span<const HostPort> whom, const std::string& line,
                             Clock::Time deadline, const Clock& clock) {
  std::vector<Descriptor> calls;
  std::vector<pollfd> events;
  for (const HostPort& place : whom) {
    // To find out where a name leads may take long.
    calls.push_back(clock.now() < deadline ? call(place) : Descriptor());
    events.push_back({calls.back().number(), POLLOUT, 0});
  }
  const Clock::Time patience = std::min(deadline, clock.now() + seconds(1));
  auto open = std::ranges::count_if(calls, &Descriptor::is_open);
  std::vector<bool> has_heard(calls.size(), false);
  for (bool in_time = true; open > 0 && in_time; in_time = clock.now() < patience) {
    if (poll(events.data(), events.size(), poll_milliseconds(patience, clock.now())) <= 0) continue;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (events[i].revents == 0) continue;
      has_heard[i] = send(calls[i].number(), line.data(), line.size(), MSG_NOSIGNAL) ==
                     static_cast<ssize_t>(line.size());
      events[i].fd = -1;
      --open;
    }
  }
  std::vector<HostPort> unheard;
  for (size_t i = 0; i < calls.size(); ++i)
    if (!has_heard[i]) unheard.push_back(whom[i]);
  return unheard;
}

struct Question {
  Descriptor socket;
  bool is_said = false;
  LineSplitter lines = {};
};

// Says the question, or takes what is answered. False when nothing more is to come.
bool go_on(Question& question, const std::string& line, const LineSink& sink) {
  const int socket = question.socket.number();
  if (!std::exchange(question.is_said, true))
    return send(socket, line.data(), line.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(line.size()) &&
           shutdown(socket, SHUT_WR) == 0;
  std::array<char, 4096> bytes;
  const ssize_t size = recv(socket, bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  question.lines.feed({bytes.data(), static_cast<size_t>(size)}, sink);
  return size > 0;
}

}  // namespace

bool leads_here(const std::string& address) {
  const Result<HostPort> place = HostPort::parse(address);
  if (!place.ok()) return false;
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(place->host.c_str(), nullptr, &hints, &found) != 0) return false;
  const Addresses list(found, &freeaddrinfo);
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    // Only an address of this machine can be bound.
    const Descriptor socket(::socket(it->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.is_open() && bind(socket.number(), it->ai_addr, it->ai_addrlen) == 0) return true;
  }
  return false;
}

void note_of_join(std::string_view text) { std::cerr << "millrace join: " << text << std::endl; }

Callers::Callers(int port) {
  Result<HeldPort> held = HeldPort::bind("::", port);
  if (!held.ok()) held = HeldPort::bind("0.0.0.0", port);
  Result<Descriptor> listener = held.status();
  if (held.ok()) listener = held->listen(kCallBacklog);
  if (listener.ok()) {
    listener_ = *std::move(listener);
    return;
  }
  note_of_join(str_cat("port ", port, " can't be had, so that this task does not hear when the ",
                       "others end: ", listener.status().message()));
}

void Callers::add_descriptors(std::vector<pollfd>& events) const {
  if (listener_.is_open() && callers_.size() < kMostCallers)
    events.push_back({listener_.number(), POLLIN, 0});
  for (const auto& [number, caller] : callers_) events.push_back({number, POLLIN, 0});
}

Clock::Time Callers::first_end() const {
  Clock::Time first = Clock::Time::max();
  for (const auto& [number, caller] : callers_)
    first = std::min(first, caller.since + kPatienceWithCallers);
  return first;
}

void Callers::turn(Clock::Time now, const Answer& answer) {
  accept_all(now);
  for (auto it = callers_.begin(); it != callers_.end();) {
    Caller& caller = it->second;
    const bool is_over = now >= caller.since + kPatienceWithCallers || !read(caller, answer);
    it = is_over ? callers_.erase(it) : std::next(it);
  }
}

void Callers::accept_all(Clock::Time now) {
  while (listener_.is_open() && callers_.size() < kMostCallers) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    const int number = socket.number();
    callers_.emplace(number, Caller{.socket = std::move(socket), .since = now});
  }
}

bool Callers::read(Caller& caller, const Answer& answer) {
  std::array<char, kLongestFarewell> bytes;
  const ssize_t size = recv(caller.socket.number(), bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  caller.bytes += static_cast<size_t>(size);
  caller.lines.feed({bytes.data(), static_cast<size_t>(size)}, [&](std::string_view line) {
    const std::string said = answer(line);
    // What does not get through at once is lost: the others will tell as well.
    if (!said.empty()) (void)!send(caller.socket.number(), said.data(), said.size(), MSG_NOSIGNAL);
  });
  return size > 0 && caller.bytes <= kLongestFarewell;
}

std::vector<HostPort> tell(std::vector<HostPort> left, const std::string& line,
                           Clock::Duration time, SignalWatch& signals, const Clock& clock) {
  const Clock::Time deadline = clock.now() + time;
  while (!left.empty() && clock.now() < deadline) {
    std::vector<HostPort> unheard;
    for (size_t first = 0; first < left.size(); first += kMostCalls) {
      const size_t count = std::min(kMostCalls, left.size() - first);
      std::ranges::move(say_to(std::span(left).subspan(first, count), line, deadline, clock),
                        std::back_inserter(unheard));
    }
    left = std::move(unheard);
    if (left.empty()) break;
    // Who does not answer at once is called again.
    pollfd signal{signals.descriptor(), POLLIN, 0};
    if (poll(&signal, 1, static_cast<int>(kBetweenCalls.count())) > 0 && signals.take()) break;
  }
  return left;
}

void ask_them(const std::vector<HostPort>& whom, const std::string& line, const Clock& clock,
              const LineSink& sink) {
  const Clock::Time deadline = clock.now() + kAskingTime;
  std::vector<Question> questions;
  for (const HostPort& place : whom) {
    if (questions.size() == kMostCalls || clock.now() >= deadline) break;
    questions.push_back({.socket = call(place)});
  }
  while (clock.now() < deadline) {
    std::erase_if(questions, [](const Question& it) { return !it.socket.is_open(); });
    if (questions.empty()) return;
    std::vector<pollfd> events;
    for (const Question& it : questions)
      events.push_back({it.socket.number(), static_cast<short>(it.is_said ? POLLIN : POLLOUT), 0});
    if (poll(events.data(), events.size(), poll_milliseconds(deadline, clock.now())) <= 0) continue;
    for (size_t i = 0; i < questions.size(); ++i)
      if (events[i].revents != 0 && !go_on(questions[i], line, sink)) questions[i].socket.close();
  }
}

}  // namespace millrace
