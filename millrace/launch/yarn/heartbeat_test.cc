#include "millrace/launch/yarn/heartbeat.h"

#include <sys/socket.h>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/fake_clock.h"
#include "millrace/launch/local_ports.h"

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

}  // namespace
}  // namespace millrace
