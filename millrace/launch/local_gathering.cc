#include "millrace/launch/local_gathering.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "millrace/launch/local_ports.h"

namespace millrace {
namespace {

constexpr Clock::Duration kPatienceWithStrangers = std::chrono::seconds(10);
constexpr Clock::Duration kReminders = std::chrono::seconds(10);
constexpr ptrdiff_t kMostStrangers = 256;
// At once, of one task: more than the records of its last moments, which are read in one turn.
constexpr size_t kMostRead = 65'536;
constexpr int kBacklog = 1024;

}  // namespace

Result<LocalGathering> LocalGathering::listen(const JobSpec& job, const std::string& host,
                                              std::string token, Gathering::Absent absent) {
  MR_ASSIGN(const HeldPort port, HeldPort::bind(host, 0));
  MR_ASSIGN(Descriptor listener, port.listen(kBacklog));
  return LocalGathering(Gathering(job, std::move(token), absent), std::move(listener), port.port());
}

void LocalGathering::add_descriptors(std::vector<pollfd>& events) const {
  if (!is_crowded()) events.push_back({listener_.number(), POLLIN, 0});
  for (const auto& [number, peer] : peers_)
    events.push_back(
        {number, static_cast<short>(peer.unwritten.empty() ? POLLIN : POLLIN | POLLOUT), 0});
}

std::vector<Gathering::Action> LocalGathering::turn(Clock::Time now) {
  Actions out = std::exchange(begun_, {});
  accept_all(now);
  std::vector<int> over;
  for (auto& [number, peer] : peers_) {
    const bool too_late = !peer.is_task && now > peer.since + kPatienceWithStrangers;
    if (too_late || !read(number, peer, out)) over.push_back(number);
  }
  if (now >= next_reminder_) {
    carry_out(gathering_.remind(), out);
    next_reminder_ = now + kReminders;
  }
  for (auto& [number, peer] : peers_) {
    const bool goes_on = write(peer);
    if (!goes_on || (peer.hanging_up && peer.unwritten.empty())) over.push_back(number);
  }
  for (int number : over) {
    if (peers_.erase(number) == 0) continue;
    carry_out(gathering_.left(number), out);
  }
  return out;
}

void LocalGathering::begins(size_t task, int attempt, Gathering::ForNow for_now) {
  carry_out(gathering_.begins(task, attempt, for_now), begun_);
}

void LocalGathering::wanted(size_t task) { carry_out(gathering_.wanted(task), begun_); }

bool LocalGathering::is_crowded() const {
  return std::ranges::count_if(peers_, [](const auto& entry) { return !entry.second.is_task; }) >=
         kMostStrangers;
}

void LocalGathering::accept_all(Clock::Time now) {
  while (!is_crowded()) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    const int number = socket.number();
    peers_.emplace(number, Peer{.socket = std::move(socket), .since = now});
  }
}

bool LocalGathering::read(int number, Peer& peer, Actions& out) {
  std::array<char, kMostRead> bytes;
  const ssize_t size = recv(number, bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  peer.lines.feed({bytes.data(), static_cast<size_t>(size)}, [&](std::string_view line) {
    if (peer.hanging_up) return;
    carry_out(gathering_.said(number, line), out);
    peer.is_task = !peer.hanging_up;
  });
  return true;
}

bool LocalGathering::write(Peer& peer) {
  while (!peer.unwritten.empty()) {
    const ssize_t size =
        send(peer.socket.number(), peer.unwritten.data(), peer.unwritten.size(), MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    peer.unwritten.erase(0, static_cast<size_t>(size));
  }
  return true;
}

void LocalGathering::carry_out(Actions actions, Actions& out) {
  for (Gathering::Action& action : actions) {
    if (auto* tell = std::get_if<Gathering::Tell>(&action)) {
      auto peer = peers_.find(tell->to);
      if (peer == peers_.end()) continue;
      std::string& unwritten = peer->second.unwritten;
      unwritten += tell->line;
    } else if (const auto* hang_up = std::get_if<Gathering::HangUp>(&action)) {
      if (auto peer = peers_.find(hang_up->who); peer != peers_.end())
        peer->second.hanging_up = true;
    } else {
      out.push_back(std::move(action));
    }
  }
}

}  // namespace millrace
