// One line to each address, whoever calls.
#include "millrace/transport/direct/shared_lines.h"

#include <thread>

#include <doctest/doctest.h>

#include "millrace/transport/direct/testing/served.h"

namespace millrace::transport {
namespace {

using millrace::testing::Answered;
using testing::Client;
using testing::Served;

NumericAddress place_of(const Served& served) {
  return NumericAddress::of_peer(served.uri()).value();
}

TEST_CASE("who calls the same address has the same line, who calls another has another") {
  Served here, there;
  const DirectThreads threads;
  const auto first = threads.lines()->to(place_of(here));
  REQUIRE(first != nullptr);
  CHECK(threads.lines()->to(place_of(here)) == first);
  CHECK(threads.lines()->to(place_of(there)) != first);
}

TEST_CASE("a line is there as long as one of those who share it") {
  Served served;
  const DirectThreads threads;
  auto one = threads.lines()->to(place_of(served));
  auto other = threads.lines()->to(place_of(served));
  const std::weak_ptr<Line> watched = other;
  one.reset();
  CHECK(threads.lines()->to(place_of(served)) == other);
  other.reset();
  CHECK(watched.expired());
  CHECK(threads.lines()->to(place_of(served)) != nullptr);
}

TEST_CASE("after a line that has ended comes another one") {
  const DirectThreads threads;
  auto served = std::make_unique<Served>();
  const NumericAddress place = place_of(*served);
  const int port = served->port();
  const auto before = threads.lines()->to(place);
  while (!before->is_up()) std::this_thread::yield();
  served.reset();
  while (!before->has_ended()) std::this_thread::yield();
  const Served again(std::chrono::seconds(40), port);
  const auto after = threads.lines()->to(place);
  REQUIRE(after != nullptr);
  CHECK(after != before);
  while (!after->is_up()) std::this_thread::yield();
}

TEST_CASE("two who share a line have their own calls, and one that goes leaves the other's alone") {
  Served served;
  const auto threads = std::make_shared<DirectThreads>();
  Client stays(served.uri(), threads);
  auto goes = std::make_unique<Client>(served.uri(), threads);
  stays.wait_until_up();
  goes->wait_until_up();
  Cancellation enough;
  Answered<std::string> waits, asks, asks_again;
  REQUIRE(stays.start("/wait", "", {.cancellation = &enough}, waits.done()));
  served.wait_for_waiting(1);
  REQUIRE(goes->start("/echo", "x", {}, asks.done()));
  CHECK(asks.wait().value() == "x");
  goes.reset();
  REQUIRE(stays.start("/echo", "y", {}, asks_again.done()));
  CHECK(asks_again.wait().value() == "y");
  CHECK(served.num_cancelled() == 0);
  enough.cancel(cancelled("enough"));
  CHECK(waits.wait().status() == cancelled("enough"));
}

}  // namespace
}  // namespace millrace::transport
