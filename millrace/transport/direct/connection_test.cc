// When a connection writes what it is told to say, and who does.
#include "millrace/transport/direct/connection.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "millrace/base/together.h"

namespace millrace::transport {
namespace {

// One end of it; of the other one only the bytes are looked at.
class Mute final : public Connection {
 public:
  explicit Mute(FileDescriptor socket)
      : Connection(
            std::move(socket), Greeting::past,
            std::make_shared<Intake>(ReceiveLimits{.all = 1 << 20, .one_message = 1 << 16})) {}

 protected:
  Status received(DirectMessage, Events&) override { return {}; }
  void ended(const Status&, Events&) override {}
};

struct Notes final : Scribe {
  bool write_soon(std::shared_ptr<Connection> connection, IfAsleep then) override {
    text += then == IfAsleep::wake ? "wake;" : "leave;";
    if (!is_there) return false;
    left = std::move(connection);
    return true;
  }
  std::string text;
  bool is_there = true;
  std::shared_ptr<Connection> left;
};

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    connection = std::make_shared<Mute>(FileDescriptor(ends[0]));
    other = FileDescriptor(ends[1]);
    connection->have_scribe(scribe);
  }
  void say() const { connection->send(bare_frame(FrameKind::cancel, 7)); }
  // Bytes that have been written and not been read.
  int written() const {
    int bytes = 0;
    REQUIRE(::ioctl(other.get(), FIONREAD, &bytes) == 0);
    return bytes;
  }
  Notes scribe;
  std::shared_ptr<Connection> connection;
  FileDescriptor other;
};

TEST_CASE("what is said is written at once") {
  const Pair pair;
  pair.say();
  const int one = pair.written();
  CHECK(one > 0);
  pair.say();
  CHECK(pair.written() == 2 * one);
  CHECK(pair.scribe.text.empty());
}

TEST_CASE(
    "what is said while many are answered is left to the scribe, who is woken and told once") {
  Pair pair;
  pair.say();
  const int one = pair.written();
  {
    const Together together;
    for (int i = 0; i < 3; ++i) pair.say();
  }
  CHECK(pair.scribe.text == "wake;");
  CHECK(pair.written() == one);
  pair.scribe.left->write_all();
  CHECK(pair.written() == 4 * one);
  pair.say();
  CHECK(pair.written() == 5 * one);
}

TEST_CASE("a scribe that can't write leaves it to whoever speaks") {
  Pair pair;
  pair.scribe.is_there = false;
  {
    const Together together;
    pair.say();
  }
  CHECK(pair.written() > 0);
}

}  // namespace
}  // namespace millrace::transport
