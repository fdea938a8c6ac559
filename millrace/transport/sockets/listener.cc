#include "millrace/transport/sockets/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "millrace/base/start_thread.h"
#include "millrace/transport/sockets/socket_options.h"

namespace millrace::transport {
namespace {

// Out of descriptors: try again after this many milliseconds instead of at once.
constexpr int kPauseMillis = 100;

}  // namespace

Listener::Listener(const Host& host, ListeningSocket socket, std::vector<Taker> takers)
    : host_(host), socket_(std::move(socket)), reception_(host, std::move(takers)) {}

Listener::~Listener() { stop(); }

Status Listener::start() {
  stop_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) {
    return error(Code::resource_exhausted,
                 "can't open a descriptor to accept connections with: ", std::strerror(errno),
                 "; raise the limit of open files (ulimit -n)");
  }
  MR_ASSIGN(thread_, start_thread("grpc:accept", [this] { accept_until_stopped(); }));
  return {};
}

void Listener::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof(one)) < 0)
    host_.log.error("can't wake the accepting thread");
  thread_.join();
  socket_.close();
}

void Listener::accept_until_stopped() {
  bool paused = false;
  while (true) {
    pollfd waited[] = {{stop_.get(), POLLIN, 0},
                       {reception_.descriptor(), POLLIN, 0},
                       {socket_.descriptor().get(), POLLIN, 0}};
    const int ready = ::poll(waited, paused ? 2 : 3, patience(paused));
    if (waited[0].revents != 0) return;
    if (ready < 0 && errno != EINTR)
      return host_.log.error("accepting ends: poll: ", std::strerror(errno));
    reception_.look(host_.clock.now());
    paused = !paused && waited[2].revents != 0 && !accept_one();
  }
}

void Listener::complain(int number) {
  if (const auto left_out = complaints_.next()) {
    host_.log.warning("can't accept a connection: ", std::strerror(number),
                      "; trying again until it works", LogLimit::note(*left_out));
  }
}

// How long the thread may sleep, in milliseconds as poll() has them.
int Listener::patience(bool paused) const {
  if (paused) return kPauseMillis;
  const auto until = reception_.until();
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - host_.clock.now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

// False if there should be a pause before the next try.
bool Listener::accept_one() {
  FileDescriptor connection(
      ::accept4(socket_.descriptor().get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (connection) {
    tune_connection(connection.get());
    reception_.admit(std::move(connection), host_.clock.now());
    return true;
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      complain(errno);
      return false;
    default:
      return true;  // the peer is gone again
  }
}

}  // namespace millrace::transport
