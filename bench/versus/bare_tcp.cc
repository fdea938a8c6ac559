#include "bench/versus/bare_tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace millrace::bench {
namespace {

constexpr size_t kPiece = 256 << 10;  // per system call; the fastest on loopback

int must(int result, const char* what) {
  if (result >= 0) return result;
  std::perror(what);
  std::exit(1);
}

void tune(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // Refused where the system has it not; then the default's speed is the limit.
  (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

[[noreturn]] void send_when_asked(int listener, size_t bytes) {
  const int socket = must(accept(listener, nullptr, nullptr), "accept");
  tune(socket);
  const std::vector<char> payload(bytes, 'x');
  char asked;
  while (read(socket, &asked, 1) == 1) {
    for (size_t sent = 0; sent < bytes;) {
      const size_t piece = std::min(kPiece, bytes - sent);
      const ssize_t count = write(socket, payload.data() + sent, piece);
      if (count <= 0) _exit(1);
      sent += static_cast<size_t>(count);
    }
  }
  _exit(0);
}

}  // namespace

BareTcp::BareTcp(size_t bytes) : buffer_(bytes) {
  const int listener = must(::socket(AF_INET, SOCK_STREAM, 0), "socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  must(bind(listener, reinterpret_cast<sockaddr*>(&address), length), "bind");
  must(listen(listener, 1), "listen");
  must(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), "getsockname");
  sender_ = must(fork(), "fork");
  if (sender_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    send_when_asked(listener, bytes);
  }
  close(listener);
  socket_ = must(::socket(AF_INET, SOCK_STREAM, 0), "socket");
  tune(socket_);
  must(connect(socket_, reinterpret_cast<sockaddr*>(&address), length), "connect");
}

BareTcp::~BareTcp() {
  close(socket_);
  kill(sender_, SIGKILL);
  waitpid(sender_, nullptr, 0);
}

void BareTcp::receive() {
  const char ask = 1;
  must(static_cast<int>(write(socket_, &ask, 1)), "write");
  for (size_t have = 0; have < buffer_.size();) {
    const size_t piece = std::min(kPiece, buffer_.size() - have);
    const ssize_t count = read(socket_, buffer_.data() + have, piece);
    if (count <= 0) must(-1, "a bare TCP connection ended");
    have += static_cast<size_t>(count);
  }
}

}  // namespace millrace::bench
