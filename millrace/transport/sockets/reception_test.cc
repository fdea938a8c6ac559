#include "millrace/transport/sockets/reception.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"

namespace millrace::transport {
namespace {

using std::chrono::seconds;

const Clock::Time kStart{};

// The other side of a connection.
class Visitor {
 public:
  // Comes, having said `first_words`.
  explicit Visitor(Reception& reception, std::string_view first_words = "",
                   Clock::Time now = kStart) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    here_ = FileDescriptor(ends[0]);
    say(first_words);
    reception.admit(FileDescriptor(ends[1]), now);
  }

  void say(std::string_view words) const {
    REQUIRE(::send(here_.get(), words.data(), words.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(words.size()));
  }
  void hang_up() { here_.close(); }

  // What has been said to it.
  std::string heard() const {
    char bytes[4096];
    const ssize_t size = ::recv(here_.get(), bytes, sizeof(bytes), 0);
    return size <= 0 ? std::string() : std::string(bytes, static_cast<size_t>(size));
  }
  bool is_connected() const {
    char byte;
    return ::recv(here_.get(), &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
  }

 private:
  FileDescriptor here_;
};

// Who takes HTTP/2.
struct Office {
  std::vector<FileDescriptor> taken;

  std::vector<Taker> takers() {
    std::vector<Taker> takers;
    takers.push_back({Opening::http2, [this](FileDescriptor connection) {
                        taken.push_back(std::move(connection));
                      }});
    return takers;
  }
  std::string read(size_t index) const {
    char bytes[4096];
    const ssize_t size = ::recv(taken[index].get(), bytes, sizeof(bytes), 0);
    return size <= 0 ? std::string() : std::string(bytes, static_cast<size_t>(size));
  }
};

TEST_CASE("a connection that brings its first bytes along is handed on at once, with all of them") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  const Visitor visitor(reception, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nand more");
  REQUIRE(office.taken.size() == 1);
  CHECK(office.read(0) == "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nand more");
  CHECK(reception.num_waiting() == 0);
  CHECK_FALSE(reception.until().has_value());
}

TEST_CASE("first bytes may come one by one, and nobody else waits for them") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  const Visitor slow(reception), quick(reception, "PRI * HTTP/2.0");
  CHECK(office.taken.size() == 1);
  for (const char byte : std::string_view("PRI * HTTP/")) {
    slow.say({&byte, 1});
    reception.look(kStart);
    CHECK(reception.num_waiting() == 1);
  }
  slow.say("2");
  reception.look(kStart);
  REQUIRE(office.taken.size() == 2);
  CHECK(office.read(1) == "PRI * HTTP/2");
  CHECK(slow.is_connected());
}

TEST_CASE("what comes after a connection is handed on wakes nobody here") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  const Visitor visitor(reception);
  visitor.say("PRI * HTTP/2.0");
  reception.look(kStart);
  REQUIRE(office.taken.size() == 1);
  visitor.say("more");
  epoll_event event;
  CHECK(::epoll_wait(reception.descriptor(), &event, 1, 0) == 0);
}

TEST_CASE("who speaks what nobody serves gets an answer in that language, and the end") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  const Visitor browser(reception, "GET /status HTTP/1.1\r\n\r\n");
  const std::string page = browser.heard();
  CHECK(page.starts_with("HTTP/1.1 501 Not Implemented\r\n"));
  const size_t head = page.find("\r\n\r\n") + 4;
  CHECK(page.find(str_cat("Content-Length: ", page.size() - head, "\r\n")) != page.npos);
  CHECK_FALSE(browser.is_connected());

  const Visitor with_tls(reception, {"\x16\x03\x01\x00\x05hello", 10});
  CHECK(with_tls.heard() == std::string_view("\x15\x03\x01\x00\x02\x02\x28", 7));
  CHECK_FALSE(with_tls.is_connected());

  const Visitor stranger(reception, "SSH-2.0-OpenSSH_9.2\r\n");
  CHECK(stranger.heard().empty());
  CHECK_FALSE(stranger.is_connected());
  CHECK(office.taken.empty());
}

TEST_CASE("who says too little is dropped when its time is over, and not before") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  const Visitor silent(reception, "", kStart), half(reception, "PRI", kStart + seconds(10));
  CHECK(reception.until() == kStart + seconds(40));
  reception.look(kStart + seconds(40) - std::chrono::nanoseconds(1));
  CHECK(silent.is_connected());
  reception.look(kStart + seconds(40));
  CHECK_FALSE(silent.is_connected());
  CHECK(half.is_connected());
  CHECK(reception.until() == kStart + seconds(50));
  // Another byte does not buy another 40 seconds.
  half.say(" ");
  reception.look(kStart + seconds(50));
  CHECK_FALSE(half.is_connected());
  CHECK_FALSE(reception.until().has_value());
}

TEST_CASE("when too many wait, the one that has waited longest goes") {
  Office office;
  Reception reception(testing::test_host(), office.takers(), {.most_waiting = 2});
  const Visitor first(reception), second(reception), third(reception);
  CHECK(reception.num_waiting() == 2);
  CHECK_FALSE(first.is_connected());
  CHECK(second.is_connected());
  third.say("PRI * HTTP/2.0");
  reception.look(kStart);
  CHECK(office.taken.size() == 1);
}

TEST_CASE("who hangs up before it has begun is forgotten") {
  Office office;
  Reception reception(testing::test_host(), office.takers());
  Visitor visitor(reception), gone(reception);
  visitor.say("PR");
  reception.look(kStart);
  visitor.hang_up();
  gone.hang_up();
  reception.look(kStart);
  CHECK(reception.num_waiting() == 0);
}

}  // namespace
}  // namespace millrace::transport
