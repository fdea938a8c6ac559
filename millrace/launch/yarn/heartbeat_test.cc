#include "millrace/launch/yarn/heartbeat.h"

#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/fake_clock.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/yarn/sasl_digest.h"
#include "millrace/launch/yarn/testing/hadoop_server.h"

namespace millrace {
namespace {

using std::chrono::seconds;

TEST_CASE("a farewell that nobody notes has an end, after which nothing is waited for") {
  // A ResourceManager that takes connections and says nothing.
  const HeldPort port = HeldPort::bind("127.0.0.1", 0).value();
  REQUIRE(listen(port.descriptor(), 1) == 0);
  FakeClock clock;
  SeededRandom random(1);
  Heartbeat heartbeat({.schedulers = {str_cat("127.0.0.1:", port.port())},
                       .host = "n1",
                       .clock = clock,
                       .random = random});
  ApplicationMaster master;
  heartbeat.turn(master);
  heartbeat.finish(FinalStatus::succeeded, "job succeeded in 12 s");
  clock.advance(seconds(59));
  heartbeat.turn(master);
  CHECK(heartbeat.fault().ok());
  CHECK(heartbeat.event());
  clock.advance(seconds(1));
  heartbeat.turn(master);
  CHECK(heartbeat.fault().code() == Code::deadline_exceeded);
  CHECK_FALSE(heartbeat.event());
  CHECK(heartbeat.wake_at(master) == Clock::Time::max());
}

// A ResourceManager that takes one connection after the other.
class TalkingServer {
 public:
  TalkingServer() { REQUIRE(listen(port_.descriptor(), 4) == 0); }
  std::string address() const { return str_cat("127.0.0.1:", port_.port()); }

  // Takes the next connection, and says the whole login to a client that draws from `random`.
  void take(Random& random) {
    socket_ = Descriptor(accept(port_.descriptor(), nullptr, nullptr));
    REQUIRE(socket_.is_open());
    const HadoopLogin login = login_with("", {}, random);
    const DigestResponse proofs =
        answer_digest(kServersOffer, {.uri = "/default", .nonce = login.nonce}).value();
    say(negotiation());
    say(success(proofs.expected));
  }
  void say(const std::string& bytes) {
    REQUIRE(send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }

 private:
  const HeldPort port_ = HeldPort::bind("127.0.0.1", 0).value();
  Descriptor socket_;
};

TEST_CASE("a registration that is refused is tried again, and refuses no container") {
  constexpr int kMostTurns = 20;  // what was sent comes in fewer pieces
  TalkingServer manager;
  FakeClock clock;
  SeededRandom random(1);
  SeededRandom same(1);
  Heartbeat heartbeat(
      {.schedulers = {manager.address()}, .host = "n1", .clock = clock, .random = random});
  ApplicationMaster master;
  master.on(Wanted{1, {.priority = 1}});
  // The socket is there when poll says so; nothing else is waited for.
  const auto turn = [&] {
    if (const auto event = heartbeat.event()) {
      pollfd one{event->fd, POLLIN, 0};
      poll(&one, 1, 1000);
    }
    return heartbeat.turn(master);
  };
  clock.advance(seconds(1));
  heartbeat.turn(master);
  manager.take(same);
  manager.say(refusal(0, 1, "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException",
                      "not now"));
  for (int i = 0; i < kMostTurns && heartbeat.event(); ++i) CHECK(turn().empty());
  CHECK_FALSE(heartbeat.event());
  CHECK(heartbeat.fault().ok());
  CHECK_FALSE(heartbeat.is_registered());

  clock.advance(seconds(1));
  heartbeat.turn(master);
  manager.take(same);
  manager.say(answer(0, ""));
  for (int i = 0; i < kMostTurns && !heartbeat.is_registered(); ++i) turn();
  CHECK(heartbeat.is_registered());
  // What was wanted all the while is asked now.
  CHECK(master.next_request().asks.size() == 1);
}

}  // namespace
}  // namespace millrace
